// In charge of a search that answers as one types: the page is fetched again with what stands in its form, what was found is put
// in its place, and the address says what is seen. Whoever types keeps the keyboard. Without this script the form is sent.

const form = document.querySelector('[data-search] form');
const pauseMs = 200;
let [waiting, asking] = [0, new AbortController()];

function addressOf() {
  const address = new URL(form.action);
  for (const [name, value] of new FormData(form)) if (value.trim() !== '') address.searchParams.set(name, value.trim());
  return address;
}

function speak(words) {
  const region = document.getElementById('search-words');
  if (region) region.textContent = words;
}

async function look() {
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  const address = addressOf();
  try {
    const response = await fetch(address, { cache: 'no-store', redirect: 'error', signal });
    if (!response.ok) throw new Error(String(response.status));
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    const [old, fresh] = [document.getElementById('found'), page.getElementById('found')];
    if (signal.aborted || !old || !fresh) return;
    old.replaceWith(document.importNode(fresh, true));
    history.replaceState(null, '', address);
    speak(page.getElementById('search-words')?.textContent ?? '');
  } catch {
    if (!signal.aborted) speak(`It could not be searched. Press ${form.querySelector('button')?.textContent ?? 'Enter'} to try again.`);
  }
}

function lookSoon() {
  clearTimeout(waiting);
  waiting = setTimeout(look, pauseMs);
}

form?.addEventListener('input', (event) => {
  if (!event.isComposing) lookSoon();
});
form?.addEventListener('compositionend', lookSoon);
// What is typed and sent at once is asked for once.
form?.addEventListener('submit', () => {
  clearTimeout(waiting);
  asking.abort();
});
