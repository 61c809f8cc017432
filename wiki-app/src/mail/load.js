/** @param {import('../settings.js').Config} config  most wikis send no mail, and start without nodemailer */
export const loadMailer = async ({ SMTP_URL: url }) =>
  url === undefined ? undefined : (await import('./mailer.js')).createMailer
