/** The form of people that have forgotten their password. */
export const FORGOTTEN_URL = '/edit/sign-in/forgotten'
