/** Where the server has heard of the recipient and of the mail: before, it cannot refuse them. */
const OF_ONE_MAIL = new Set(['RCPT TO', 'DATA'])
const CODE = /^[A-Z]{1,40}$/

/** The message has codes alone: the server's own words may quote addresses. */
export class MailFailure extends Error {
  /**
   * @param {string} problem  for people, without an address
   * @param {{refused: boolean, away: boolean}} what  `refused`: this mail, for good; otherwise it may be sent later;
   *   `away`: no mail can be sent now
   */
  constructor (problem, { refused, away }) {
    super(problem)
    this.problem = problem
    this.refused = refused
    this.away = away
  }
}

/**
 * 4xx is temporary, 5xx is not (RFC 5321 §4.2.1). A 5xx for the sender or the password is about the settings of the
 * wiki, so its mails wait until they are right.
 * @param {any} error  of nodemailer
 */
export function failureOf ({ code, responseCode, command }) {
  const ofOneMail = OF_ONE_MAIL.has(command) && Number.isInteger(responseCode)
  return new MailFailure(problemOf(code, responseCode, command), {
    refused: ofOneMail && responseCode >= 500,
    away: !ofOneMail
  })
}

/** @param {unknown} code @param {unknown} responseCode @param {unknown} command */
function problemOf (code, responseCode, command) {
  const after = typeof command === 'string' && /^[A-Z ]{1,40}$/.test(command) ? ` after ${command}` : ''
  if (Number.isInteger(responseCode)) return `code ${responseCode}${after}`
  return typeof code === 'string' && CODE.test(code) ? `${code}${after}` : 'an unknown reason'
}
