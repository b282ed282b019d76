// In charge of reading a whole list several times, one after another, from a process of its own.
const [url = '', token = '', times = '1'] = process.argv.slice(2);
for (let read = 0; read < Number(times); read += 1) {
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  for await (const _ of response.body ?? []);
}
