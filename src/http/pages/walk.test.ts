// Walks the pages that need no session in a browser, as everybody may meet them.
import { test } from 'node:test';
import { looks, openLook, requireUsable } from '../../../test/accessibility.ts';
import { useService } from '../../../test/service.ts';

const { url } = await useService();

for (const look of looks) {
  test(`everybody can use the pages for anybody: ${look.width}, ${look.scheme}`, { timeout: 300_000 }, async () => {
    const { page } = await openLook(look);
    for (const path of ['/school', '/login', '/register/nothing', '/school/open/nothing', '/nothing']) {
      await page.goto(`${url}${path}`);
      await requireUsable(page, path);
    }
  });
}
