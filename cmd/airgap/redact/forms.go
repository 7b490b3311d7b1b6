package redact

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"slices"
)

// pattern is one form of a secret within a line.
type pattern struct {
	kind Kind
	// words of which a line has one, in lower case, or it has no such secret; nil:
	// every line is looked at.
	words []string
	form  *regexp.Regexp
	// secret is which part of a match is secret: the match and its groups, as
	// FindSubmatchIndex gives them. nil is the first group, or all of it where there
	// is none. from == to is nothing.
	secret func(line []byte, match []int) (from, to int)
}

// names of fields end like this. What only names a file, a Secret or a time does
// not: tokenFile, secretName, token-ttl.
const names = `(?:passw(?:or)?d|passwort|passphrase|bindpw|secret|token|credentials?|certificate[-_]?key|key[-_]data|` +
	`(?:api|access|private|secret|shared|account|encryption|signing)[-_]?key|secretaccesskey|(?:\b|[_-])auth|psk)`

// begins is where a word does; in JSON the escape of a line's end may stand before it.
const begins = `(?:\b|\\[nrt])`

var (
	// Quotes around a name may be escaped: JSON within JSON.
	fieldForm = regexp.MustCompile(`(?i)[\w.-]*` + names + `\\*["']?\s*(?:=>|:=|[:=])\s*`)
	flagForm  = regexp.MustCompile(`(?i)--?[\w-]*` + names + `(?:\\*["'],?\s*\\*["']|\s+)`)
	pairForm  = regexp.MustCompile(`(?i)name\\*"\s*:\s*\\*"[^"\\]*` + names + `[^"\\]*\\*"\s*,\s*\\*"value\\*"\s*:\s*`)
	dataForm  = regexp.MustCompile(`"(?:data|stringData)\\*"\s*:\s*\{([^{}]*)\}`)

	jwtForm    = regexp.MustCompile(begins + `(eyJ[\w-]{10,}(?:\.[\w-]*){1,4}|eyJ[\w+/=-]{40,})`)
	codeForm   = regexp.MustCompile(begins + `([a-z0-9]{6}\.[a-z0-9]{16}(?:\.[a-z2-7]{26})?)\b`)
	hashForm   = regexp.MustCompile(`(\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{20,}|\$(?:1|5|6|7|y|gy|apr1|argon2[a-z]*|scrypt)\$[^\s:"']{8,}|\{S?SHA\d*\}[A-Za-z0-9+/=]{16,})`)
	bearerForm = regexp.MustCompile(`(?i)bearer\s+([\w.~+/=-]{8,})`)
	basicForm  = regexp.MustCompile(`(?i)basic\s+([A-Za-z0-9+/]{4,}={0,2})`)
	headerForm = regexp.MustCompile(`(?i)authorization\\*["']?\s*[:=]\s*\\*["'\[]?\s*(?:basic|bearer|digest|negotiate|ntlm|token|aws4-hmac-sha256)\s+([^"'\\]+)`)
	cookieForm = regexp.MustCompile(`(?i)cookie\\*["']?\s*[:=]\s*([^"'\\]+=[^"'\\]+)`)
	userForm   = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://([^\s/"'<>?#]+)@`)
	proxyForm  = regexp.MustCompile(`(?i)_proxy\\*["']?\s*[:=]\s*\\*["']?([^\s/"'\\:]+:[^\s/"'\\]+)@`) // without a scheme
	queryForm  = regexp.MustCompile(`(?:[?&;]|\\u0026)([\w.%~\[\]-]+)=([^&\s"'<>\\]+)`)
	beginForm  = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`)
	endForm    = regexp.MustCompile(`-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`)
)

func fieldWords() []string {
	return []string{"pass", "secret", "token", "credential", "key", "auth", "bindpw", "psk"}
}

func patterns() []pattern {
	return []pattern{
		{Field, fieldWords(), fieldForm, valueAfter},
		{Field, fieldWords(), flagForm, valueAfter},
		{Field, fieldWords(), pairForm, valueAfter},
		{Token, []string{"eyj"}, jwtForm, nil},
		{Code, []string{"."}, codeForm, nil},
		{Hash, []string{"$", "sha"}, hashForm, nil},
		{Header, []string{"bearer"}, bearerForm, bearer},
		{Header, []string{"basic"}, basicForm, basic},
		{Header, []string{"authorization"}, headerForm, nil},
		{Header, []string{"cookie"}, cookieForm, nil},
		{URL, []string{"://"}, userForm, user},
		{URL, []string{"_proxy"}, proxyForm, nil},
		{Query, []string{"?", "&", `\u0026`}, queryForm, parameter},
	}
}

// spans are the secrets of a line, in order. state is what the lines before it left.
func (r *Redactor) spans(line []byte, st *state) []span {
	lower := bytes.ToLower(line)
	all := st.next(line)
	for _, p := range r.patterns {
		if !slices.ContainsFunc(p.words, func(word string) bool { return bytes.Contains(lower, []byte(word)) }) {
			continue
		}
		for _, m := range p.form.FindAllSubmatchIndex(line, -1) {
			from, to := p.where(line, m)
			all = append(all, span{from, to, p.kind})
		}
	}
	if bytes.Contains(lower, []byte(`data`)) {
		all = append(all, inlineData(line)...)
	}
	return merged(all)
}

func (p pattern) where(line []byte, match []int) (from, to int) {
	switch {
	case p.secret != nil:
		return p.secret(line, match)
	case len(match) > 2:
		return match[2], match[3]
	default:
		return match[0], match[1]
	}
}

// bearer is a token, but for words: "bearer authentication".
func bearer(line []byte, m []int) (from, to int) {
	for _, c := range line[m[2]:m[3]] {
		if letter := c|0x20 >= 'a' && c|0x20 <= 'z'; !letter {
			return m[2], m[3]
		}
	}
	return m[2], m[2]
}

// basic is USER:PASSWORD in base64, and no other word: "basic constraints".
func basic(line []byte, m []int) (from, to int) {
	text, err := base64.StdEncoding.DecodeString(string(line[m[2]:m[3]]))
	if err != nil {
		text, err = base64.RawStdEncoding.DecodeString(string(bytes.TrimRight(line[m[2]:m[3]], "=")))
	}
	if err != nil || bytes.IndexByte(text, ':') < 0 {
		return m[2], m[2]
	}
	return m[2], m[3]
}

// user is USER:PASSWORD of a URL, or a user of which the name is a token.
func user(line []byte, m []int) (from, to int) {
	if text := line[m[2]:m[3]]; bytes.IndexByte(text, ':') < 0 && len(text) < 20 {
		return m[2], m[2]
	}
	return m[2], m[3]
}

// parameter is the value of a URL's parameter, unless it is one of which it is known
// that it is harmless: storages sign addresses by parameters of many names.
func parameter(line []byte, m []int) (from, to int) {
	switch string(line[m[2]:m[3]]) {
	case "fieldSelector", "labelSelector", "limit", "resourceVersion", "resourceVersionMatch", "timeout", "timeoutSeconds", "watch",
		"allowWatchBookmarks", "sendInitialEvents", "continue", "pretty", "dryRun", "fieldManager", "force", "ns", "digest", "n", "last", "mount", "from",
		"container", "follow", "previous", "tailLines", "verbose", "exclude":
		return m[4], m[4]
	}
	return m[4], m[5]
}

// inlineData are the values of a Secret's data in one line of JSON, which may be
// escaped itself.
func inlineData(line []byte) []span {
	var all []span
	for _, m := range dataForm.FindAllSubmatchIndex(line, -1) {
		plain := bytes.HasPrefix(line[m[0]:], []byte(`"stringData`))
		for _, v := range valueForm.FindAllSubmatchIndex(line[m[2]:m[3]], -1) {
			if from, to := m[2]+v[2], m[2]+v[3]; plain || isBase64(line[from:to]) {
				all = append(all, span{from, to, Object})
			}
		}
	}
	return all
}

var valueForm = regexp.MustCompile(`:\s*\\*"([^"\\]*)`)

// isBase64 reports whether a value may be base64, as all data of a Secret is.
func isBase64(text []byte) bool {
	if len(text) < 4 || harmless(text) {
		return false
	}
	_, err := base64.StdEncoding.DecodeString(string(text))
	return err == nil
}
