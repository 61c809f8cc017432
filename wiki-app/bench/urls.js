import { historyUrl, linksUrl, viewUrl } from '../src/pages/name.js'
import { nameOf } from './fill.js'

/** Every kind of page that finds or lists something, with the query that costs most on a filled wiki. */
export const FINDING_URLS = [
  '/', '/pages', '/pages?after=maple+page+500', '/pages?q=oak', '/pages?q=page+99', '/pages?q=99+pa', '/pages?q=zzz',
  '/search?q=unique77', '/search?q=oak', '/search?q=common', '/search?q=oak&part=20',
  '/search?q=%22common+beginning%22', '/search?q=the+common+elm+oak+pine',
  '/tags', '/tags?after=elm', '/tags/oak', '/tags/oak?after=oak+page+500', linksUrl(nameOf(7)),
  '/orphaned', '/orphaned?after=elm', '/wanted', '/wanted?after=3+Wanted+500', '/dead-ends', '/dead-ends?after=elm',
  '/care',
  '/changes', '/changes?author=elm', '/changes.atom', historyUrl(nameOf(7)), viewUrl(nameOf(7))
]
