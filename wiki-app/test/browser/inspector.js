import assert from 'node:assert/strict'
import axe from 'axe-core'
import { COLOURS, RULES, structureOf, violationsIn } from './helper.js'

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {{width_px: number, isPhone: boolean}} Device */

const VIEW_HEIGHT_PX = 844
const DESKTOP = { width_px: 1280, isPhone: false }
const PHONE = { width_px: 390, isPhone: true }
/** Of the smallest phones; only the layout is looked at. */
const SMALL_PHONE = { width_px: 320, isPhone: true }

/** How the context of a test begins, for `browser.open`. */
export const ON_A_DESKTOP = { viewport: { width: DESKTOP.width_px, height: VIEW_HEIGHT_PX } }
export const ON_A_PHONE = {
  viewport: { width: PHONE.width_px, height: VIEW_HEIGHT_PX }, hasTouch: true, isMobile: true
}

/** What these find depends on places and sizes; what the others find, on which elements are shown. */
const GEOMETRY = [...COLOURS, 'target-size', 'scrollable-region-focusable', 'skip-link', 'region', 'bypass']

/**
 * Collects what is wrong with the pages that it is shown, so that one test names all of them. Each page is looked at on
 * a desktop and on a phone, and in dark colours: on the phone, where buttons show that a desktop hides until they are
 * pointed at.
 * @param {Page} page @param {typeof ON_A_DESKTOP | typeof ON_A_PHONE} own  the device that the test goes on with
 */
export async function createInspector (page, own) {
  // Most documents of these tests are looked at, and sending it once costs less than to each of them.
  await page.context().addInitScript(axe.source)
  const devices = await page.context().newCDPSession(page)
  /** @type {string[]} */
  const problems = []

  /** As Playwright does for a context. @param {Device} device */
  async function turnInto ({ width_px: width, isPhone }) {
    await devices.send('Emulation.setTouchEmulationEnabled', { enabled: isPhone })
    await devices.send('Emulation.setDeviceMetricsOverride', {
      width, height: VIEW_HEIGHT_PX, deviceScaleFactor: 1, mobile: isPhone
    })
  }

  /** @param {string} where @param {Device} device */
  async function layoutOf (where, device) {
    const { width, titles, isTouched } = await structureOf(page)
    assert.equal(isTouched, device.isPhone, 'the browser is the device')
    if (width > device.width_px) problems.push(`${where}: ${width} px wide on a screen of ${device.width_px} px`)
    if (titles !== 1) problems.push(`${where} has ${titles} titles`)
  }

  /** @param {string} where @param {import('axe-core').RunOnly} rules */
  async function rulesOf (where, rules) {
    for (const { id, nodes } of await violationsIn(page, rules)) {
      problems.push(`${where}: ${id} ${nodes.map(({ html }) => html).join(' ')}`)
    }
  }

  return {
    /** @param {string} what */
    async look (what) {
      await page.emulateMedia({ colorScheme: 'light' })
      await turnInto(DESKTOP)
      await layoutOf(what, DESKTOP)
      await rulesOf(what, { type: 'tag', values: RULES })
      const shown = await shownIn(page)
      await turnInto(SMALL_PHONE)
      await layoutOf(what, SMALL_PHONE)
      await turnInto(PHONE)
      await layoutOf(what, PHONE)
      const isSame = await shownIn(page) === shown
      await rulesOf(`${what} on a phone`,
        isSame ? { type: 'rule', values: GEOMETRY } : { type: 'tag', values: RULES })
      await page.emulateMedia({ colorScheme: 'dark' })
      await rulesOf(`${what} on a phone in dark colours`, { type: 'rule', values: COLOURS })
      await turnInto(own === ON_A_PHONE ? PHONE : DESKTOP)
    },
    report: () => assert.deepEqual(problems, [])
  }
}

/** One character for each element: whether it is shown. @param {Page} page @returns {Promise<string>} */
const shownIn = (page) => page.evaluate(() => [...document.querySelectorAll('body *')].map((element) => {
  const { right, bottom } = element.getBoundingClientRect()
  return element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && right > 0 && bottom > 0
    ? 'x'
    : ' '
}).join(''))
