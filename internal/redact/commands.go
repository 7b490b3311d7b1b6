package redact

import (
	"bytes"
	"regexp"
)

// Forms of command lines. A blank before a value may be quotes and a comma: arguments in JSON.
const (
	before = `(?:^|[\s"'\[,(=])`
	blank  = `(?:\\*["'],?\s*\\*["']|[\s=]+)`
)

var (
	curlForm     = regexp.MustCompile(before + `(?:-[a-zA-Z#]*[uUbE]` + `(?:` + blank + `)?|--(?:(?:proxy-)?user|(?:proxy-)?cert)` + blank + `|--cookie` + blank + `)`)
	shortForm    = regexp.MustCompile(before + `-[pP](?:` + blank + `)?`)
	joinedForm   = regexp.MustCompile(before + `-p`)
	bindForm     = regexp.MustCompile(before + `-[wa]` + `(?:` + blank + `)?`)
	credsForm    = regexp.MustCompile(`--(?:(?:src-|dest-)?creds|oauth2-bearer)` + blank)
	snmpForm     = regexp.MustCompile(before + `-[AXc]` + `(?:` + blank + `)?`)
	cryptForm    = regexp.MustCompile(`openssl["',]*\s+["']?passwd["',]*(?:\s+-\w+)*\s+([^\s-]\S*)`)
	sambaForm    = regexp.MustCompile(before + `-U` + blank + `?[^\s%]+%([^\s"']+)`)
	htpasswdForm = regexp.MustCompile(`htpasswd["',]*\s.*-[a-zA-Z]*b[a-zA-Z]*["',]*\s+(.*)`)
	pipedForm    = regexp.MustCompile(`(?:echo|printf|<<<)\s+(?:-\w+\s+)*(\S.*?)\s*\|\s*(?:\S*/)?(?:sudo\b.*\s-\w*S|.*(?:passwd|password-stdin|cryptsetup|kinit))`)
	hereForm     = regexp.MustCompile(`(?:sudo\b.*\s-\w*S|\bread\b|token|login|sshpass|passwd|password-stdin|cryptsetup|kinit).*<<<\s*(\S.*)`)
	literalForm  = regexp.MustCompile(`--from-literal` + blank + `[\w.-]+=`)
	opensslForm  = regexp.MustCompile(`\b(?:pass|passin|passout):`)
	sqlForm      = regexp.MustCompile(`(?i)(?:identified\s+(?:with\s+\S+\s+)?(?:by|as)|\bpassword)\s*\(?\s*(?:password\s+)?\\*["']([^"'\\:=,\s][^"'\\]*)`)
	netrcForm    = regexp.MustCompile(`(?i)(?:^|\s)login\s+\S+\s+password\s+(\S+)`)
	sqlplusForm  = regexp.MustCompile(`(?i)(?:sqlplus|impdp|expdp|rman)\b.*?\s[\w$#]+/("[^"]+"|[^\s@"']+)`)
	awsForm      = regexp.MustCompile(`(?i)(?:secret_access_key|session_token)\s+(\S{8,})`)
	nmcliForm    = regexp.MustCompile(`(?i)\bpassword\s+`)
	expectForm   = regexp.MustCompile(`(?i)(?:assword|assphrase).*?\bsend\s+(?:--\s+)?["']([^"']+)`)
)

func commandForms() []pattern {
	return []pattern{
		{kind: Field, words: []string{"curl", "etcdctl"}, form: ready(curlForm), secret: login, command: true},
		{kind: Field, words: []string{"sshpass", "ipmitool", "sqlcmd", "unzip ", "zip ", "7z", "docker login", "podman login", "nerdctl login", "buildah login", "skopeo login", "registry login", "auth login", "oc login", "az login", "useradd", "usermod", "mongo", `"login"`}, form: ready(shortForm), secret: argument, command: true},
		{kind: Field, words: []string{"mysql", "mariadb"}, form: ready(joinedForm), secret: argument, command: true},
		{kind: Field, words: []string{"ldap", "redis-cli"}, form: ready(bindForm), secret: argument, command: true},
		{kind: Field, words: []string{"creds", "oauth2-bearer"}, form: ready(credsForm), secret: argument},
		{kind: Field, words: []string{"snmp"}, form: ready(snmpForm), secret: argument, command: true},
		{kind: Field, words: []string{"openssl"}, form: ready(cryptForm)},
		{kind: Field, words: []string{"smbclient", "rpcclient", "wmic", "net "}, form: ready(sambaForm), command: true},
		{kind: Field, words: []string{"htpasswd"}, form: ready(htpasswdForm)},
		{kind: Field, words: []string{"echo", "printf"}, form: ready(pipedForm)},
		{kind: Field, words: []string{"<<<"}, form: ready(hereForm)},
		{kind: Field, words: []string{"--from-literal"}, form: ready(literalForm), secret: argument},
		{kind: Field, words: []string{"pass:", "passin:", "passout:"}, form: ready(opensslForm), secret: argument},
		{kind: Field, words: []string{"identified", "password"}, form: ready(sqlForm)},
		{kind: Field, words: []string{"login"}, form: ready(netrcForm)},
		{kind: Field, words: []string{"sqlplus", "impdp", "expdp", "rman"}, form: ready(sqlplusForm)},
		{kind: Field, words: []string{"secret_access_key", "session_token"}, form: ready(awsForm)},
		{kind: Field, words: []string{"nmcli"}, form: ready(nmcliForm), secret: argument, command: true},
		{kind: Field, words: []string{"send"}, form: ready(expectForm)},
	}
}

// argument returns the argument of an option, in quotes or as a word.
func argument(line []byte, m []int) (from, to int) {
	if from, to = valueAt(line, m[1], false); from < to && line[from] != '-' {
		return from, to
	}
	return m[1], m[1]
}

// login is USER:PASSWORD, a cookie, or a token used as a user name.
func login(line []byte, m []int) (from, to int) {
	from, to = argument(line, m)
	if value := line[from:to]; bytes.IndexByte(value, ':') < 0 && bytes.IndexByte(value, '=') < 0 && len(value) < 20 {
		return from, from
	}
	return from, to
}
