import { historyUrl, linksUrl, viewUrl } from '../src/pages/name.js'
import { nameOf } from './fill.js'

/** Every kind of page that finds or lists something, with the query that costs most on a filled wiki. */
export const FINDING_URLS = [
  '/', '/?after=maple+page+500', '/?q=oak', '/?q=page+99', '/?q=zzz',
  '/search?q=unique77', '/search?q=oak', '/search?q=common', '/search?q=oak&part=20',
  '/search?q=%22common+beginning%22', '/search?q=the+common+elm+oak+pine',
  '/tags', '/tags/oak', linksUrl(nameOf(7)), '/orphaned', '/orphaned?after=elm', '/wanted', '/wanted?after=Wanted+500',
  '/changes', '/changes?author=elm', '/changes.atom', historyUrl(nameOf(7)), viewUrl(nameOf(7))
]
