// Short links: their ids, their addresses and the right answers. Node and k6 both run this file: no APIs of either.
import { pageName } from './plan.js'

/** What a trial requests. @typedef {'page' | 'watched-page' | 'short-link' | 'record'} Resource */

/**
 * So many links lead to each page: a trial needs many keys, not many texts, and the wiki allows a page 100 links with
 * an id that a client chose.
 */
export const LINKS_OF_EACH = 50

/** In place of k6's error code (1000 to 1999): the response is complete, but not the right one. */
export const WRONG_ANSWER = 9000

/** 2³² ÷ golden ratio; odd, so that no two ids are equal. */
const STEP = 0x9e3779b1

/**
 * Neighbours in the plan are far apart in an index, as with ids drawn at random.
 * @param {number} index  below 2³²
 */
const codeOf = (index) => (Math.imul(index + 1, STEP) >>> 0).toString(36).padStart(7, '0')

/**
 * @param {number} link  of the plan, from 0
 * @returns {string} id of a link that exists before the trial
 */
export const linkId = (link) => codeOf(link)

/**
 * @param {string} mark  of the trial
 * @param {number} index  of the iteration that makes it
 * @returns {string} id of a link that no other trial of the run has
 */
export const newLinkId = (mark, index) => `${codeOf(index)}-${mark}`

/** @param {number} links @returns {number} pages that so many links lead to */
export const pagesOfLinks = (links) => Math.ceil(links / LINKS_OF_EACH)

/**
 * @param {number} link
 * @returns {string} name of the page that it leads to
 */
export const linkedPage = (link) => pageName(Math.floor(link / LINKS_OF_EACH))

/**
 * @param {string} mark  of the trial
 * @param {number} page  0…pagesOfLinks − 1
 * @returns {string} name of a page to which no link leads before the trial
 */
export const newLinkedPage = (mark, page) => `linked-${mark}-${page + 1}`

/**
 * @param {{resource?: Resource, pages: number}} settings
 * @returns {number} pages that are read, or to which the links lead that are read
 */
export const pagesNeeded = ({ resource, pages }) => resource === 'short-link' ? pagesOfLinks(pages) : pages

/**
 * @param {string} method
 * @param {string} id
 * @returns {string} path of the request
 */
export const linkPath = (method, id) => method === 'PUT' ? `/api/v1/short-links/${id}` : `/s/${id}`

/**
 * Whether a response that is no failure (below 400) is the one that a request for a short link must have: a redirect to
 * its page, or 201 for a new link; 200 would mean that another trial has made it.
 * @param {{method: string, status: number, location: string | undefined}} response
 * @param {string} page  name
 */
export const isRightAnswer = ({ method, status, location = '' }, page) => method === 'PUT'
  ? status === 201
  : (status === 301 || status === 302) && location.endsWith(`/wiki/${page}`)
