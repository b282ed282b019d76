// In charge of a page that follows something: it is fetched again, what has changed is put in its place, and the reader stays
// where they are, with the eyes and with the keyboard. `data-live`: what is changed all the time, by its id; `data-follow`: the
// page goes on. Without this script, the page has a link to look again.

const everyMs = 2000;
const mostFailures = 30;
let [failures, spoken] = [0, 0];

/** What the reader looks at stays where it is on the screen, whatever grows above it. */
function keepPlace(change) {
  const focused = document.activeElement;
  const middle = document.elementFromPoint(innerWidth / 2, innerHeight / 2);
  const anchor = focused && focused !== document.body ? focused : middle;
  const before = anchor?.getBoundingClientRect().top ?? 0;
  change();
  if (focused && focused !== document.body && !focused.isConnected) findAgain(focused)?.focus({ preventScroll: true });
  const still = anchor?.isConnected ? anchor : document.activeElement;
  const after = still?.getBoundingClientRect().top ?? before;
  if (still && still !== document.body && after !== before) scrollBy(0, after - before);
}

/** Around a table: a click into it gives it the focus, and nothing in it is about to be used. */
const isBox = (element) => element?.matches('.scroll') ?? false;

function findAgain(gone) {
  if (gone.id !== '') return document.getElementById(gone.id);
  if (isBox(gone)) return document.querySelector(`.scroll[aria-labelledby="${CSS.escape(gone.getAttribute('aria-labelledby'))}"]`);
  const href = gone.getAttribute('href');
  return href === null ? null : document.querySelector(`main a[href="${CSS.escape(href)}"]`);
}

function update(shown, now) {
  for (const part of ['.badge', '.words', '.percent']) {
    const [old, fresh] = [shown.querySelector(part), now.querySelector(part)];
    if (!old || !fresh || old.outerHTML === fresh.outerHTML) continue;
    old.className = fresh.className;
    old.textContent = fresh.textContent;
  }
  const [bar, freshBar] = [shown.querySelector('progress'), now.querySelector('progress')];
  if (bar && freshBar) bar.value = freshBar.value;
}

/** What nobody is about to use: under the finger it would be another one. */
function replaceLive(page) {
  for (const old of document.querySelectorAll('[data-live]')) {
    const fresh = page.getElementById(old.id);
    if (!fresh || old.outerHTML === fresh.outerHTML) continue;
    if (old.contains(document.activeElement) && !isBox(document.activeElement)) continue;
    const scrolled = [...old.querySelectorAll('.scroll')].map((box) => box.scrollLeft);
    const put = document.importNode(fresh, true);
    old.replaceWith(put);
    for (const [at, box] of put.querySelectorAll('.scroll').entries()) box.scrollLeft = scrolled[at] ?? 0;
  }
}

function speak(words) {
  const region = document.getElementById('follow-words');
  if (region) region.textContent = words;
}

/** Said at the quarters: more often would be a nuisance to listen to. */
function speakProgress(page) {
  const percent = Math.floor((page.querySelector('progress')?.value ?? 0) * 100);
  const quarter = Math.floor(percent / 25);
  if (quarter <= spoken) return;
  spoken = quarter;
  speak(`${percent} % read`);
}

/** What was said of the data before the import is no longer true; what may have the focus stays. */
function renew(shown, now) {
  for (const part of ['.counts', '.message']) {
    const [old, fresh] = [shown.querySelector(part), now.querySelector(part)];
    old?.remove();
    if (fresh) shown.append(document.importNode(fresh, true));
  }
  for (const words of shown.querySelectorAll('.goes-on')) words.textContent = 'It has ended.';
}

function finish(page) {
  keepPlace(() => {
    for (const state of document.querySelectorAll('.states > li')) {
      const now = page.getElementById(state.id);
      if (now) renew(state, now);
    }
    for (const bar of document.querySelectorAll('.states progress')) bar.value = 1;
    for (const percent of document.querySelectorAll('.states .percent')) percent.textContent = '100 %';
    const [notice, now] = [document.getElementById('notice'), page.getElementById('notice')];
    if (notice && now) notice.replaceWith(document.importNode(now, true));
    else notice?.remove();
    for (const id of ['decision', 'after', 'imports']) {
      const [old, fresh] = [document.getElementById(id), page.getElementById(id)];
      if (old && fresh) old.replaceWith(document.importNode(fresh, true));
    }
  });
  const outcome = page.getElementById('outcome')?.textContent.replace(/\s+/g, ' ').trim() ?? '';
  speak(`It has ended. ${outcome}`);
}

async function look() {
  try {
    const response = await fetch(location.href, { cache: 'no-store', redirect: 'error' });
    if (!response.ok) throw new Error(String(response.status));
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    failures = 0;
    keepPlace(() => {
      for (const state of document.querySelectorAll('.states > li')) {
        const now = page.getElementById(state.id);
        if (now) update(state, now);
      }
      replaceLive(page);
    });
    if (page.querySelector('[data-follow]') === null) {
      finish(page);
      return;
    }
    speakProgress(page);
  } catch {
    failures += 1;
    if (failures > mostFailures) return;
  }
  setTimeout(look, everyMs);
}

// The place is kept here; a browser that keeps it as well would move it twice.
document.documentElement.style.overflowAnchor = 'none';
setTimeout(look, everyMs);
