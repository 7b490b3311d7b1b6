package redact

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"slices"
	"sync"
)

// pattern is one form of a secret within a line.
type pattern struct {
	kind Kind
	// A line without one of these words, in lower case, has no such secret. nil: check
	// every line.
	words []string
	needs string // one of these bytes as well; "" is none
	// maybe spares lines the form that it cannot have; nil: none.
	maybe func(line []byte) bool
	form  func() *regexp.Regexp
	// secret is which part of a match is secret: the match and its groups, as
	// FindSubmatchIndex gives them. nil is the first group that has matched, or all of it where
	// there is none. from == to is nothing.
	secret    func(line []byte, match []int) (from, to int)
	command   bool // the words may be in an earlier line that continues in this one
	unescaped bool // it requires a boundary around the secret: withoutEscapes
}

// lazy compiles an expression at its first use: no command uses all of them, and together they take 11 ms.
func lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// names of fields end like this. Names of a file, a Secret or a time do
// not: tokenFile, secretName, token-ttl.
const names = `(?:passw(?:or)?ds?|passwort|passphrase|passcode|pass[-_]code|pin[-_]?code|bindpw|secret|token|creds?|credentials?|certificate[-_]?key|key[-_]data|` +
	`(?:api|access|private|secret|shared|account|encryption|signing|auth|master|storage|consumer|app|licen[cs]e)[-_]?key|secretaccesskey|` +
	`requirepass|masterauth|(?:store|key)pass|dockerconfigjson|dockercfg|` + shortNames + `|psk)`

// shortNames are words that others end with, too: bypass, compass.
const shortNames = `(?:\b|\\[nrt]|[_-])(?:auth|pass|pwd|pswd|pw)|[_-](?:pass|pwd)|(?-i:[a-z0-9](?:Pass|Pwd|PWD|PW))|ssh_?pass|(?:root|admin|user|login|sudo|my|db|sql|pg|ldap|bind|smtp|ftp|app)(?:pass|pwd|pw)`

// spaces are blanks of any kind; gap is the text between a name and its sign.
const (
	spaces = `[\s\x{a0}\x{3000}\x{200b}\x{feff}]*`
	gap    = `\\*["'` + "`" + `]?(?:\x1b\[[0-9;]*m)*` + spaces
)

// begins is where a word does; in JSON the escape of a line's end may stand before it.
const begins = `(?:\b|\\[nrt])`

var (
	// Quotes around a name may be escaped: JSON within JSON.
	fieldForm  = lazy(`(?i)` + names + gap + `(?:=>|:=|[:=：＝])` + spaces)
	flagForm   = lazy(`(?i)--?[\w-]*` + names + `(?:\\*["'],?\s*\\*["']|\s+)`)
	pairForm   = lazy(`(?i)name\\*"\s*:\s*\\*"[^"\\]*` + names + `[^"\\]*\\*"\s*,\s*\\*"value\\*"\s*:\s*`)
	flowForm   = lazy(`(?:^|[\s{,])(data|stringData):\s*\{([^{}]*)\}`)
	insideForm = lazy(`(?i)` + names + `\\*"\s*:\s*\{\s*\\*"value\\*"\s*:\s*`)
	dataForm   = lazy(`"(?:data|stringData)\\*"\s*:\s*\{([^{}]*)\}`)

	jwtForm    = lazy(begins + `(eyJ[\w-]{10,}(?:\.[\w-]*){1,4}|eyJ[\w+/=-]{40,})`)
	codeForm   = lazy(begins + `([a-z0-9]{6}\.[a-z0-9]{16}(?:\.[a-z2-7]{26})?)\b`)
	hashForm   = lazy(`(\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{20,}|\$(?:1|5|6|7|y|gy|apr1|argon2[a-z]*|scrypt)\$[^\s:"']{8,}|\{S?SHA\d*\}[A-Za-z0-9+/=]{16,})`)
	bearerForm = lazy(`(?i)bearer\s+([\w.~+/=-]{8,})`)
	basicForm  = lazy(`(?i)basic\s+([A-Za-z0-9+/]{4,}={0,2})`)
	headerForm = lazy(`(?i)authorization\\*["']?\s*[:=]\s*\\*["'\[]?\s*(?:basic|bearer|digest|negotiate|ntlm|token|aws4-hmac-sha256)\s+([^"'\\]+)`)
	// Without a known scheme: a word that looks like a token.
	rawHeaderForm = lazy(`(?i)authorization\\*["']?\s*[:=]\s*\\*["'\[]?\s*([^\s"'\\{\[,]{12,})`)
	wordsForm     = lazy(`(?i)^\s*[\w.-]*(?:passw(?:or)?d|passphrase|passcode|requirepass|masterauth)\s+(\S+)\s*$`)
	cookieForm    = lazy(`(?i)cookie\\*["']?\s*[:=]\s*([^"'\\]+=[^"'\\]+)`)
	userForm      = lazy(`[A-Za-z][A-Za-z0-9+.-]*://([^\s/"'<>?#]+)@`)
	slashForm     = lazy(`://[^\s/"'<>@:]*:([^\s"'<>]+)@`)                                  // a password with a slash
	proxyForm     = lazy(`(?i)_proxy\\*["']?\s*[:=]\s*\\*["']?([^\s/"'\\:]+:[^\s/"'\\]+)@`) // without a scheme
	queryForm     = lazy(`(?:[?&;]|\\u0026)([\w.%~\[\]-]+)=([^&\s"'<>\\]+)`)
	beginForm     = lazy(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`)
	endForm       = lazy(`-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`)
)

func fieldWords() []string {
	return []string{"pass", "secret", "token", "cred", "key", "auth", "pw", "pswd", "psk", "pincode", "pin-code", "pin_code", "dockerc"}
}

// patterns are the forms of this package's own.
func patterns() []pattern {
	all := []pattern{
		{kind: Field, words: fieldWords(), form: fieldForm, secret: valueAfter},
		{kind: Field, words: fieldWords(), needs: "-", form: flagForm, secret: valueAfter},
		{kind: Field, words: fieldWords(), needs: `"`, form: pairForm, secret: valueAfter},
		{kind: Field, words: fieldWords(), needs: "{", form: insideForm, secret: valueAfter},
		{kind: Field, words: []string{"pass", "masterauth"}, form: wordsForm},
		{kind: Token, words: []string{"eyj"}, form: jwtForm},
		{kind: Code, words: []string{"."}, maybe: mayHaveCode, form: codeForm},
		{kind: Hash, words: []string{"$", "sha"}, form: hashForm},
		{kind: Header, words: []string{"bearer"}, form: bearerForm, secret: bearer},
		{kind: Header, words: []string{"basic"}, form: basicForm, secret: basic},
		{kind: Header, words: []string{"authorization"}, form: headerForm},
		{kind: Header, words: []string{"authorization"}, form: rawHeaderForm, secret: rawHeader},
		{kind: Header, words: []string{"cookie"}, form: cookieForm},
		{kind: URL, words: []string{"://"}, form: userForm, secret: user},
		{kind: URL, words: []string{"://"}, needs: "@", form: slashForm, secret: slashed},
		{kind: URL, words: []string{"_proxy"}, form: proxyForm},
		{kind: Query, words: []string{"?", "&", `\u0026`}, form: queryForm, secret: parameter},
	}
	return slices.Concat(all, commandForms(), markupForms(), koreanForms(), sentenceForms(), serviceForms())
}

// spans returns the secrets of a line, in order. state has the context from earlier lines.
func (r *Redactor) spans(line []byte, st *state) []span {
	v := viewOf(line)
	return v.back(r.found(v.text, st))
}

func (r *Redactor) found(line []byte, st *state) []span {
	lower := bytes.ToLower(line)
	has := make([]bool, len(r.engine.patterns))
	r.engine.mark(lower, has)
	goesOn := st.command
	st.goesOn(line, r.engine, has)
	all := st.next(line)
	unescaped := []byte(nil)
	for i, p := range r.engine.patterns {
		if !has[i] && (!p.command || goesOn == nil || !goesOn[i]) || p.needs != "" && !bytes.ContainsAny(line, p.needs) || p.maybe != nil && !p.maybe(line) {
			continue
		}
		text := line
		if p.unescaped {
			if unescaped == nil {
				unescaped = withoutEscapes(line)
			}
			text = unescaped
		}
		covered := 0 // the text of a secret is not checked again, otherwise a hostile line would take minutes
		for _, m := range p.form().FindAllSubmatchIndex(text, -1) {
			if m[0] < covered {
				continue
			}
			from, to := p.where(text, m)
			all, covered = append(all, span{from, to, p.kind}), to
		}
	}
	if bytes.Contains(lower, []byte(`data`)) {
		all = append(all, inlineData(line)...)
		all = append(all, flowData(line)...)
	}
	return merged(all)
}

func (p pattern) where(line []byte, match []int) (from, to int) {
	if p.secret != nil {
		return p.secret(line, match)
	}
	return firstGroup(line, match)
}

// mayHaveCode reports whether a full stop has six letters or digits before it, and sixteen behind.
func mayHaveCode(line []byte) bool {
	for at := range line {
		if line[at] == '.' && at >= 6 && at+16 < len(line) && !bytes.ContainsFunc(line[at-6:at], noCode) && !bytes.ContainsFunc(line[at+1:at+17], noCode) {
			return true
		}
	}
	return false
}

func noCode(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'z') }

// bearer is a token, without words: "bearer authentication".
func bearer(line []byte, m []int) (from, to int) {
	for _, c := range line[m[2]:m[3]] {
		if letter := c|0x20 >= 'a' && c|0x20 <= 'z'; !letter {
			return m[2], m[3]
		}
	}
	return m[2], m[2]
}

// rawHeader is the value of an Authorization header without a scheme: no word.
func rawHeader(line []byte, m []int) (from, to int) {
	if bytes.ContainsAny(line[m[2]:m[3]], "0123456789") {
		return m[2], m[3]
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

// user is USER:PASSWORD of a URL, or a token used as a user name.
func user(line []byte, m []int) (from, to int) {
	if text := line[m[2]:m[3]]; bytes.IndexByte(text, ':') < 0 && len(text) < 20 {
		return m[2], m[2]
	}
	return m[2], m[3]
}

// slashed is a password, and no port with a path behind it, as of an image with its digest.
func slashed(line []byte, m []int) (from, to int) {
	if digits := bytes.TrimLeft(line[m[2]:m[3]], "0123456789"); len(digits) == 0 || digits[0] == '/' && len(digits) < m[3]-m[2] {
		return m[2], m[2]
	}
	return m[2], m[3]
}

// parameter is the value of a URL's parameter, unless the parameter is
// known to be harmless: storage services sign URLs with parameters of many names.
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
	for _, m := range dataForm().FindAllSubmatchIndex(line, -1) {
		plain := bytes.HasPrefix(line[m[0]:], []byte(`"stringData`))
		for _, v := range valueForm().FindAllSubmatchIndex(line[m[2]:m[3]], -1) {
			if from, to := m[2]+v[2], m[2]+v[3]; plain || isBase64(line[from:to]) {
				all = append(all, span{from, to, Object})
			}
		}
	}
	return all
}

// flowData are the values of a Secret's data in one line of YAML.
func flowData(line []byte) []span {
	var all []span
	for _, m := range flowForm().FindAllSubmatchIndex(line, -1) {
		plain := m[3]-m[2] > len("data")
		for _, v := range flowValue().FindAllSubmatchIndex(line[m[4]:m[5]], -1) {
			if from, to := m[4]+v[2], m[4]+v[3]; plain && !trivial(line[from:to]) || isPacked(line[from:to]) {
				all = append(all, span{from, to, Object})
			}
		}
	}
	return all
}

// isPacked reports whether a value is base64, and no word.
func isPacked(text []byte) bool {
	return len(text) >= 8 && isBase64(text) && bytes.ContainsAny(text, "0123456789+/=")
}

var flowValue = lazy(`:\s*["']?([^"',]+)`)

var valueForm = lazy(`:\s*\\*"([^"\\]*)`)

// isBase64 reports whether a value may be base64, as all data of a Secret is.
func isBase64(text []byte) bool {
	if len(text) < 4 || harmless(text) {
		return false
	}
	_, err := base64.StdEncoding.DecodeString(string(text))
	return err == nil
}
