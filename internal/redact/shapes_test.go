package redact

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/unicode/norm"
)

// shapes are texts with a secret in the place of %s: each a way in which people and programs
// write one.
func shapes() []string {
	return []string{
		"pwd=%s", "login pwd=%s ok", "Pwd: %s", "pass=%s", "dbPass=%s", "db_pass: %s", "DB-PASS=%s", "userPwd = %s", "passcode: %s", "pass-phrase? no: passphrase=%s",
		"PGPASSWORD=%s psql", "export MYSQL_PWD=%s", "Environment=REDIS_PASS=%s", "password=/%s", "password=/etc/%s", "password: /var/lib/%s", "pw=%s;", "a{password=%s}", "f(password=%s)",
		"Server=db;Password=%s;Database=bank", "jdbc:x://h/db?user=a&password=%s", "license_key=%s", "auth-key: %s", "password %s", "requirepass %s", "password\u00a0:\u00a0%s", "password：%s",
		"\x1b[1mpassword\x1b[0m: %s", "password=\x1b[31m%s\x1b[0m", "password = 'a b %s'", `password="%s and more"`, "password: >-\n  %s\n",
		"password:\n  %s\n", "password: \\\n  %s\n", `"password":` + "\n    \"%s\"\n",
		"password=\"first\nand %s\"", "app --password \\\n  %s --user x", "- --token\n", // the last one is without
		"<password>%s</password>", "<Password>%s</Password>", "<a:db-password type=\"x\">%s</a:db-password>", "<password><![CDATA[%s]]></password>", "<password>\n  %s\n</password>",
		`<user name="a" password="%s"/>`, `<property name="password" value="%s"/>`, `<entry key="db.password">%s</entry>`, "<key>Password</key><string>%s</string>", "&lt;password&gt;%s&lt;/password&gt;",
		"curl -u admin:%s https://x", "curl -sSuadmin:%s https://x", "curl --user admin:%s x", "curl --user=admin:%s x", "curl -U a:%s -x p:1 x",
		"curl --proxy-user a:%s x", `["curl","-u","a:%s","x"]`, "curl -s \\\n  -u admin:%s \\\n  https://x",
		"curl -b session=%s x", "curl -H 'Authorization: token %s' x", `curl -H "Authorization: %s1234567890" x`, "curl -H 'X-Api-Key: %s' x",
		"curl -H \"X-Auth-Token: %s\" x", "curl -H 'PRIVATE-TOKEN: %s' x",
		"sshpass -p %s ssh a@b", "sshpass -p'%s' ssh a@b", "sshpass -p%s ssh a@b", "mysql -u root -p%s bank", "mysqldump -uroot -p'%s' bank",
		"ldapsearch -x -D cn=a -w %s -b x", "redis-cli -a %s ping", "ipmitool -H h -U a -P %s power",
		"docker login -u a -p %s r.bank", "podman login --password=%s r.bank", "skopeo copy --src-creds a:%s docker://x dir:y",
		"smbclient //h/s -U a%%%s", "htpasswd -bB file user %s", "echo %s | sudo -S id", "echo '%s' | docker login --password-stdin r",
		"passwd --stdin a <<< %s",
		"kubectl create secret generic x --from-literal=key=%s", "openssl rsa -in k -passin pass:%s", "openssl enc -k x -pass pass:%s",
		"CREATE USER a IDENTIFIED BY '%s'", "ALTER ROLE a PASSWORD '%s'", "machine h login a password %s", "sqlplus bank/%s@db",
		"unzip -P %s a.zip", "nmcli dev wifi connect x password %s",
		"aws configure set aws_secret_access_key %s", "https://a:p/%s@h/x", "https://a:%s/x@h/", "password%%3D%s", "%%22password%%22%%3A%%22%s%%22",
		"비밀번호: %s", "비밀번호 : %s", "비밀번호：%s", "비밀번호=%s", "비밀번호는 %s입니다", "비밀번호는 %s 입니다", "비밀번호가 %s로 바뀜", "관리자 비밀번호(임시): %s", "DB 패스워드=%s", "암호: %s",
		"암호를 '%s'로 설정", "인증키: %s", "인증 키는 %s", "토큰: %s", "API 토큰은 %s", "비번 %s", "접속 암호 : \"%s\"", "비밀번호:\n  %s",
		"pwd:%s", "pass =%s", `<password value="%s"/>`, `<Password type='x' value='%s' ></Password>`, `{"m":"a\npwd=%s\nb"}`, `{"m":"a\tpass: %s"}`,
		`{"pass\u0077ord":"%s"}`, `"\u003cpassword\u003e%s\u003c/password\u003e"`, `"\\u003cpwd\\u003e%s\\u003c/pwd\\u003e"`,
		`{"\ube44\ubc00\ubc88\ud638": "%s"}`,
		`{"password":["%s"]}`, `{"password":{"value":"%s"}}`, "비밀번호: |\n  %s\n", "- password: |  # x\n    %s\n", "password: !!binary |\n  %s\n", "pwd: &a >-\n  a\n  %s\n",
		"stringData: {a: %s}", `stringData: {"a": "%s", b: c}`, "  .dockerconfigjson: %s",
		"Passcode is %s", "the password was %s", "password는 %s", "PW는 %s입니다", "PIN: 1%s", "PIN 번호: 1%s", "pin code = 1%s", "id/pw = admin / %s", "아이디/비밀번호: admin/%s", "비밀번호→%s", "[비밀번호] %s", "접속키: %s",
		"curl --oauth2-bearer %s h", "curl -E cert.pem:%s h", "etcdctl --user root:%s get", "crane auth login -u a -p %s h",
		"oc login -u a -p %s h", "useradd -p %s x", "ldapadd -w%s x", "redis-cli -a%s ping", "mongosh -u a -p %s", "keytool -storepass %s",
		"snmpwalk -v3 -A %s h", "openssl passwd -6 %s", "gh auth login --with-token <<< %s", "read -rs PW <<< %s", "PIN? 1%s", "rootpwd=%s",
		"dbpass: %s", "passwords: [%s]", "&lt;password value=&quot;%s&quot;/&gt;", "sshpass -d 3 3<<<%s", "ftp://u:/%s@h",
	}
}

const plantedToo = "Zq7!vX2#mK9$rT4"

// TestShapes: no shape lets a secret through, be it letters and digits, or with signs.
func TestShapes(t *testing.T) {
	for _, shape := range shapes() {
		for _, secret := range []string{planted, plantedToo} {
			text := shape
			if strings.Contains(shape, "%s") {
				text = fmt.Sprintf(shape, secret)
			}
			for what, written := range map[string]string{"as it is": text, "in a log": "Nov 23 10:00:00 n1 app[1]: " + text, "with the end of a line": text + "\r\nstays\r\n"} {
				if strings.Contains(shape, "password %s") && what == "in a log" && strings.HasPrefix(shape, "password ") || strings.HasPrefix(shape, "requirepass") && what == "in a log" {
					continue // a word in a sentence
				}
				got := clean(t, written)
				if strings.Contains(got, secret) || strings.Contains(got, secret[4:]) {
					t.Errorf("%s: %q became %q", what, written, got)
				}
				if what == "with the end of a line" && !strings.Contains(got, "stays") {
					t.Errorf("%q: the text after it is gone: %q", written, got)
				}
			}
		}
	}
}

// TestServices: tokens of known services, by gitleaks' rules, with no name before them.
func TestServices(t *testing.T) {
	if n := len(rules()); n < 200 {
		t.Fatalf("%d rules", n)
	}
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for _, token := range []string{
		"ghp_" + letters[:36], "gho_" + strings.Repeat("aB3", 12), "github_pat_" + strings.Repeat("aB3d5F7", 12)[:82], "glpat-" + letters[:20],
		"xoxb-123456789012-123456789012-" + letters[:24], "AKIA" + "QWERTYUIOPASDFGH",
		"ghs_" + letters[:36], "github_pat_11" + letters[:20] + "_" + letters[:58], "ghp_" + letters[:18],
		"glpat-" + letters[:10] + "-_x1.01.abcdefghi", "xoxb-1234567890-" + letters[:15], "dckr_pat_" + letters[:27], "sk_live_" + letters[:24],
		"hvs." + strings.Repeat("aB3d5", 20), "AGE-SECRET-KEY-1" + strings.Repeat("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 2)[:58], "npm_" + letters[:36], "hf_" + strings.Repeat("aBcDeFgHiJ", 4)[:34],
	} {
		for _, text := range []string{"it is " + token + " here\n", `{"m":"a\n` + token + `\nb"}`, "x=" + token, "<t>" + token + "</t>", "(" + token + ").", "\x1b[31m" + token + "\x1b[0m"} {
			if got := clean(t, text); strings.Contains(got, token[8:20]) {
				t.Errorf("%q became %q", text, got)
			}
		}
	}
}

// TestSecretInBlocks: the data of a Secret in YAML, in one line and in blocks.
func TestSecretInBlocks(t *testing.T) {
	packed := base64.StdEncoding.EncodeToString([]byte(plantedToo))
	for _, text := range []string{"data: {a: " + packed + "}", "kind: Secret\ndata:\n  a: >-\n    " + packed + "\nmetadata: {}\n", "data:\n  a: |\n    " + packed + "\n"} {
		if got := clean(t, text); strings.Contains(got, packed) {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestEncodings: a secret in UTF-16 of either order, in EUC-KR, and in letters apart.
func TestEncodings(t *testing.T) {
	text := "first\r\npassword: " + planted + "\r\n비밀번호: " + planted + "\r\nlast\r\n"
	for _, order := range []struct{ high, low int }{{1, 0}, {0, 1}} {
		for _, mark := range []string{"\ufeff", ""} {
			var b []byte
			written := mark + text
			if mark == "" {
				written = strings.ReplaceAll(text, "비밀번호", "pwd")
			}
			for _, u := range utf16.Encode([]rune(written)) {
				pair := [2]byte{}
				pair[order.low], pair[order.high] = byte(u), byte(u>>8)
				b = append(b, pair[0], pair[1])
			}
			for _, piece := range []int{1, 7, len(b)} {
				got := strings.ReplaceAll(through(t, New(nil).Writer, string(b), piece), "\x00", "")
				if strings.Contains(got, planted[2:]) || !strings.Contains(got, "first") || !strings.Contains(got, "last") {
					t.Errorf("UTF-16 %v %q in pieces of %d: %q", order, mark, piece, got)
				}
			}
		}
	}
	old, err := korean.EUCKR.NewEncoder().String("비밀번호: " + planted + "\n끝\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := clean(t, old); strings.Contains(got, planted[2:]) {
		t.Errorf("EUC-KR: %q", got)
	}
	if got := clean(t, norm.NFD.String("비밀번호는 "+planted+" 입니다\n")); strings.Contains(got, planted[2:]) {
		t.Errorf("letters apart: %q", got)
	}
}

// FuzzShapes: with any text in the lines around it, the secret goes in each shape, the text does
// not grow beyond its marks, and the result does not depend on the pieces of the text.
func FuzzShapes(f *testing.F) {
	all := shapes()
	for i := range all {
		f.Add("before", "after", uint(i), []byte("abcDEF123!#"), 5)
	}
	f.Add("password=\"", "\"", uint(3), []byte{0, 255, 7}, 1)
	f.Add("\xff\xfea\x00", "\x00", uint(9), []byte("s"), 2)
	f.Add("-----BEGIN PRIVATE KEY-----", "<password>", uint(40), []byte(nil), 3)
	f.Add("curl \\", "stringData:", uint(60), []byte("....----"), 4)
	r := New(nil)
	f.Fuzz(func(t *testing.T, before, after string, shape uint, letters []byte, piece int) {
		const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#*+_~^.-"
		secret := []byte("Zz9xq")
		for _, c := range letters[:min(len(letters), 64)] {
			secret = append(secret, alphabet[int(c)%len(alphabet)])
		}
		secret = append(secret, "7Qv"...)
		text := all[shape%uint(len(all))]
		if strings.Contains(text, "%s") {
			text = fmt.Sprintf(text, secret)
		}
		text = before + "\n" + text + "\n" + after
		got := through(t, r.Writer, text, 1+max(0, piece)%1000)
		if len(before)+len(after) < 4096 && strings.Contains(got, string(secret[4:])) && !strings.Contains(before+after, string(secret[4:])) {
			t.Errorf("%q is in %q", secret, got)
		}
		if len(got) > 60*len(text)+100 {
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
		if whole := through(t, r.Writer, text, len(text)); whole != got {
			t.Errorf("in one piece it is\n%q\nelse\n%q", whole, got)
		}
	})
}
