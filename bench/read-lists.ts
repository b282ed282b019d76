// In charge of reading a whole list several times, from a process of its own: prints how many were read to the end. None is begun late.
const [url = '', token = '', times = '1', seconds = '60'] = process.argv.slice(2);
const end = performance.now() + Number(seconds) * 1000;
let read = 0;
while (read < Number(times) && performance.now() < end) {
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  for await (const _ of response.body ?? []);
  read += 1;
}
process.stdout.write(String(read));
