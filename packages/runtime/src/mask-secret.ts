const SECRET_NAME = /SECRET|PASSWORD|PASSWD|TOKEN|CREDENTIAL|PRIVATE_?KEY|API_?KEY/i
const NEXT_URL = String.raw`,\s*\w+:\/\/`
/** Greedy: a password that was not encoded may hold `:`, `/` or `@` itself, so the last `@` before white space or another URL ends it. */
const PASSWORD_IN_TEXT = new RegExp(String.raw`(:\/\/[^:@\s]*:)(?:(?!${NEXT_URL})[^\s"'])*@`, 'g')
const PASSWORD_IN_QUERY = /([?&](?:password|passwd|secret|token)=)[^&\s"']*/gi
const URL_WITH_PASSWORD = /^(.*?:\/\/[^:@]*:).*@([^@]*)$/s
/** A colon that no port follows: what stands there may be a password whose `@host` was forgotten. */
const URL_CUT_SHORT = /^(.*?:\/\/[^:@]*:)(?!\d{1,5}(?:[/?]|$)).*$/s
const SHOWN_CHARACTERS_MAX = 200

/** Masks the passwords of all URLs in any text, such as an error's message, and a whole value whose name says that it is secret. */
export function maskSecret(name: string, value: string): string {
  if (SECRET_NAME.test(name)) return '***'
  return value.replace(PASSWORD_IN_TEXT, '$1***@').replace(PASSWORD_IN_QUERY, '$1***')
}

/** A refused value as an error may show it. Malformed as it is, it rather shows too little than a password. */
export function maskRefusedValue(name: string, value: string): string {
  if (SECRET_NAME.test(name)) return '***'
  const masked = value
    .split(new RegExp(`(?=${NEXT_URL})`))
    .map((url) => (URL_WITH_PASSWORD.test(url) ? url.replace(URL_WITH_PASSWORD, '$1***@$2') : url.replace(URL_CUT_SHORT, '$1***')))
    .join('')
    .replace(PASSWORD_IN_QUERY, '$1***')
  return masked.length > SHOWN_CHARACTERS_MAX ? `${masked.slice(0, SHOWN_CHARACTERS_MAX)}...` : masked
}
