/** Its POST begins a sign-in at the provider. */
export const BEGIN_URL = '/edit/sign-in/oidc'
/** Where the provider sends browsers. The query has a code, and is in no log (nginx/conf). */
export const CALLBACK_URL = `${BEGIN_URL}/callback`
