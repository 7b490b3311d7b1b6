package redact

import (
	"bytes"
)

// Forms of command lines. A blank before a value may be quotes and a comma: arguments in JSON.
const (
	before = `(?:^|[\s"'\[,(=])`
	blank  = `(?:\\*["'],?\s*\\*["']|[\s=]+)`
)

var (
	curlForm     = lazy(before + `(?:-[a-zA-Z#]*[uUbE]` + `(?:` + blank + `)?|--(?:(?:proxy-)?user|(?:proxy-)?cert)` + blank + `|--cookie` + blank + `)`)
	shortForm    = lazy(before + `-[pP](?:` + blank + `)?`)
	joinedForm   = lazy(before + `-p`)
	bindForm     = lazy(before + `-[wa]` + `(?:` + blank + `)?`)
	credsForm    = lazy(`--(?:(?:src-|dest-)?creds|oauth2-bearer)` + blank)
	snmpForm     = lazy(before + `-[AXc]` + `(?:` + blank + `)?`)
	cryptForm    = lazy(`openssl["',]*\s+["']?passwd["',]*(?:\s+-\w+)*\s+([^\s-]\S*)`)
	sambaForm    = lazy(before + `-U` + blank + `?[^\s%]+%([^\s"']+)`)
	htpasswdForm = lazy(`htpasswd["',]*\s.*-[a-zA-Z]*b[a-zA-Z]*["',]*\s+(.*)`)
	pipedForm    = lazy(`(?:echo|printf|<<<)\s+(?:-\w+\s+)*(\S.*?)\s*\|\s*(?:\S*/)?(?:sudo\b.*\s-\w*S|.*(?:passwd|password-stdin|cryptsetup|kinit))`)
	hereForm     = lazy(`(?:sudo\b.*\s-\w*S|\bread\b|token|login|sshpass|passwd|password-stdin|cryptsetup|kinit).*<<<\s*(\S.*)`)
	literalForm  = lazy(`--from-literal` + blank + `[\w.-]+=`)
	opensslForm  = lazy(`\b(?:pass|passin|passout):`)
	sqlForm      = lazy(`(?i)(?:identified\s+(?:with\s+\S+\s+)?(?:by|as)|\bpassword)\s*\(?\s*(?:password\s+)?\\*["']([^"'\\:=,\s][^"'\\]*)`)
	netrcForm    = lazy(`(?i)(?:^|\s)login\s+\S+\s+password\s+(\S+)`)
	sqlplusForm  = lazy(`(?i)(?:sqlplus|impdp|expdp|rman)\b.*?\s[\w$#]+/("[^"]+"|[^\s@"']+)`)
	awsForm      = lazy(`(?i)(?:secret_access_key|session_token)\s+(\S{8,})`)
	nmcliForm    = lazy(`(?i)\bpassword\s+`)
	expectForm   = lazy(`(?i)(?:assword|assphrase).*?\bsend\s+(?:--\s+)?["']([^"']+)`)
)

func commandForms() []pattern {
	return []pattern{
		{kind: Field, words: []string{"curl", "etcdctl"}, form: curlForm, secret: login, command: true},
		{kind: Field, words: []string{"sshpass", "ipmitool", "sqlcmd", "unzip ", "zip ", "7z", "docker login", "podman login", "nerdctl login", "buildah login", "skopeo login", "registry login", "auth login", "oc login", "az login", "useradd", "usermod", "mongo", `"login"`}, form: shortForm, secret: argument, command: true},
		{kind: Field, words: []string{"mysql", "mariadb"}, form: joinedForm, secret: argument, command: true},
		{kind: Field, words: []string{"ldap", "redis-cli"}, form: bindForm, secret: argument, command: true},
		{kind: Field, words: []string{"creds", "oauth2-bearer"}, form: credsForm, secret: argument},
		{kind: Field, words: []string{"snmp"}, form: snmpForm, secret: argument, command: true},
		{kind: Field, words: []string{"openssl"}, form: cryptForm},
		{kind: Field, words: []string{"smbclient", "rpcclient", "wmic", "net "}, form: sambaForm, command: true},
		{kind: Field, words: []string{"htpasswd"}, form: htpasswdForm},
		{kind: Field, words: []string{"echo", "printf"}, form: pipedForm},
		{kind: Field, words: []string{"<<<"}, form: hereForm},
		{kind: Field, words: []string{"--from-literal"}, form: literalForm, secret: argument},
		{kind: Field, words: []string{"pass:", "passin:", "passout:"}, form: opensslForm, secret: argument},
		{kind: Field, words: []string{"identified", "password"}, form: sqlForm},
		{kind: Field, words: []string{"login"}, form: netrcForm},
		{kind: Field, words: []string{"sqlplus", "impdp", "expdp", "rman"}, form: sqlplusForm},
		{kind: Field, words: []string{"secret_access_key", "session_token"}, form: awsForm},
		{kind: Field, words: []string{"nmcli"}, form: nmcliForm, secret: argument, command: true},
		{kind: Field, words: []string{"send"}, form: expectForm},
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
