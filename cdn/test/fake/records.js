import { isIPv4, isIPv6 } from 'node:net'
import { refusal, unknownFields } from './refusal.js'

// https://developers.cloudflare.com/api/resources/dns/subresources/records/
const FIELDS = ['type', 'name', 'content', 'proxied', 'ttl', 'comment', 'tags', 'settings', 'priority', 'data']
const PROXIABLE = ['A', 'AAAA', 'CNAME']
const TYPES = [...PROXIABLE, 'MX', 'TXT', 'NS', 'CAA']
const COMMENT_MAX_CHARS = { free: 100, pro: 500, business: 500, enterprise: 500 }

/**
 * @param {any} body
 * @param {{zone: any, others: any[]}} around
 * @returns {any} the record as stored
 * @throws {Error} a Refusal
 */
export function checkedRecord (body, { zone, others }) {
  unknownFields(body, FIELDS)
  const { type, content } = body
  if (!TYPES.includes(type)) throw refusal(400, 9005, `Content for ${type} record is invalid.`)
  if (typeof body.name !== 'string' || body.name === '') throw refusal(400, 9000, 'DNS name is invalid.')
  const name = body.name.toLowerCase()
  if (name !== zone.name && !name.endsWith(`.${zone.name}`)) {
    throw refusal(400, 9007, `DNS name ${name} is not in the zone ${zone.name}.`)
  }
  if (
    (type === 'A' && !isIPv4(content)) ||
    (type === 'AAAA' && !isIPv6(content)) ||
    typeof content !== 'string' ||
    content === ''
  ) {
    throw refusal(400, 9005, `Content for ${type} record is invalid. Must be a valid ${type === 'A' ? 'IPv4' : type === 'AAAA' ? 'IPv6' : 'hostname'} address.`)
  }
  const ttl = body.ttl ?? 1
  if (ttl !== 1 && !(Number.isInteger(ttl) && ttl >= (zone.plan === 'enterprise' ? 30 : 60) && ttl <= 86_400)) {
    throw refusal(400, 9021, 'TTL must be between 60 and 86400 seconds, or 1 for Automatic.')
  }
  if (body.proxied && !PROXIABLE.includes(type)) throw refusal(400, 9004, `This record type cannot be proxied: ${type}`)
  if (body.proxied && (/^(10|127)\./.test(content) || content.startsWith('192.168.'))) {
    throw refusal(400, 9003, `Target ${content} is not allowed for a proxied record.`)
  }
  if (
    (body.comment?.length ?? 0) > COMMENT_MAX_CHARS[/** @type {keyof typeof COMMENT_MAX_CHARS} */ (zone.plan)]
  ) throw refusal(400, 9212, 'Comment is too long for your plan.')
  for (const other of others.filter((record) => record.name === name)) {
    if (other.type === type && other.content === content) {
      throw refusal(400, 81_058, 'An identical record already exists.')
    }
    if (type === 'CNAME' && PROXIABLE.includes(other.type)) {
      throw refusal(400, other.type === 'CNAME' ? 81_057 : 81_054, 'A CNAME record with that host already exists.')
    }
    if (other.type === 'CNAME' && PROXIABLE.includes(type)) {
      throw refusal(400, 81_053, 'An A, AAAA, or CNAME record with that host already exists.')
    }
  }
  return {
    name,
    type,
    content,
    proxied: body.proxied ?? false,
    ttl,
    comment: body.comment ?? null,
    tags: body.tags ?? [],
    settings: body.settings ?? {},
    proxiable: PROXIABLE.includes(type),
    meta: {}
  }
}
