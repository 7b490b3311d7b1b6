package redact

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// through hands text through a writer in pieces of so many bytes.
func through(t testing.TB, w func(io.Writer) io.WriteCloser, text string, piece int) string {
	t.Helper()
	var out bytes.Buffer
	to := w(&out)
	for part := range slices.Chunk([]byte(text), piece) {
		if n, err := to.Write(part); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func clean(t testing.TB, text string) string {
	t.Helper()
	return through(t, New(nil).Writer, text, 4096)
}

const planted = "pl4nt3dS3cr3tThatMustGo"

// TestForms: in each text the secret goes, and the text around it stays.
func TestForms(t *testing.T) {
	jwt := "eyJhbGciOiJSUzI1NiIsImtpZCI6IngifQ.eyJhdWQiOlsiYSJdfQ." + planted
	packed := base64.StdEncoding.EncodeToString([]byte("bank:" + planted))
	for name, c := range map[string]struct{ text, want string }{
		"YAML":            {"user:\n  password: " + planted + " with words\n  name: bank\n", "user:\n  password: [redacted:field]\n  name: bank\n"},
		"YAML, in a list": {"- token: '" + planted + "'\n", "- token: '[redacted:field]'\n"},
		"YAML, a text":    {"a:\n  passphrase: |-\n    " + planted + "\n    more\n  b: stays\n", "a:\n  passphrase: |-\n    [redacted:field]\n    [redacted:field]\n  b: stays\n"},
		"kubeconfig": {
			"users:\n- user:\n    client-certificate-data: LS0tY2VydA==\n    client-key-data: " + packed + "\n",
			"users:\n- user:\n    client-certificate-data: LS0tY2VydA==\n    client-key-data: [redacted:field]\n",
		},
		"encryption.yaml": {
			"kind: EncryptionConfiguration\n- secretbox:\n    keys:\n    - name: key1\n      secret: " + packed + "\n",
			"kind: EncryptionConfiguration\n- secretbox:\n    keys:\n    - name: key1\n      secret: [redacted:field]\n",
		},
		"JSON":                {`{"a": 1, "client_secret": "` + planted + `\"more", "b": "stays"}`, `{"a": 1, "client_secret": "[redacted:field]", "b": "stays"}`},
		"JSON within JSON":    {`{"msg":"{\"password\":\"` + planted + `\",\"b\":\"stays\"}"}`, `{"msg":"{\"password\":\"[redacted:field]\",\"b\":\"stays\"}"}`},
		"TOML":                {`  password = "` + planted + `"` + "\n", `  password = "[redacted:field]"` + "\n"},
		"INI":                 {"proxy_username=bank\nproxy_password=" + planted + " and more\n", "proxy_username=bank\nproxy_password=[redacted:field]\n"},
		"a log":               {"Nov 23 10:00:00 n1 app[1]: login token=" + planted + " user=bank\n", "Nov 23 10:00:00 n1 app[1]: login token=[redacted:field] user=bank\n"},
		"an argument":         {"run: app --password " + planted + " --user bank\n", "run: app --password [redacted:field] --user bank\n"},
		"an argument, joined": {"run: app --api-key=" + planted + " --user bank\n", "run: app --api-key=[redacted:field] --user bank\n"},
		"arguments in JSON":   {`["app","--token","` + planted + `","--user","bank"]`, `["app","--token","[redacted:field]","--user","bank"]`},
		"a variable": {
			"env:\n- name: DB_PASSWORD\n  value: " + planted + " x\n- name: DB_USER\n  value: bank\n",
			"env:\n- name: DB_PASSWORD\n  value: [redacted:field]\n- name: DB_USER\n  value: bank\n",
		},
		"a variable in JSON":       {`{"name":"DB_PASSWORD","value":"` + planted + `"},{"name":"U","value":"bank"}`, `{"name":"DB_PASSWORD","value":"[redacted:field]"},{"name":"U","value":"bank"}`},
		"a login of a registry":    {`{"auths":{"r.bank":{"auth":"` + packed + `"}}}`, `{"auths":{"r.bank":{"auth":"[redacted:field]"}}}`},
		"a web token":              {"it is " + jwt + " there\n", "it is [redacted:token] there\n"},
		"a web token, cut":         {"it is " + jwt[:60] + "\n", "it is [redacted:token]\n"},
		"bearer":                   {"Bearer " + planted + " from n1\n", "Bearer [redacted:header] from n1\n"},
		"basic":                    {"sent Basic " + packed + " to n1\n", "sent Basic [redacted:header] to n1\n"},
		"a header":                 {`header "Authorization: Digest ` + planted + ` x" sent`, `header "Authorization: Digest [redacted:header]" sent`},
		"a cookie":                 {"Cookie: session=" + planted + "; a=b\n", "Cookie: [redacted:header]\n"},
		"a proxy":                  {"HTTPS_PROXY=http://bank:p@" + planted + "@10.0.0.1:3128/ end\n", "HTTPS_PROXY=http://[redacted:url]@10.0.0.1:3128/ end\n"},
		"a proxy without a scheme": {"http_proxy='bank:p@" + planted + "@10.0.0.1:3128' end\n", "http_proxy='[redacted:url]@10.0.0.1:3128' end\n"},
		"a user that is a token":   {"git https://" + planted + "@git.bank/x\n", "git https://[redacted:url]@git.bank/x\n"},
		"a signed address": {
			"GET https://s3/x?X-Amz-Date=1&X-Amz-Signature=" + planted + "&limit=5 ok\n",
			"GET https://s3/x?X-Amz-Date=[redacted:query]&X-Amz-Signature=[redacted:query]&limit=5 ok\n",
		},
		"a signed address in JSON": {`"u":"https://s3/x?limit=5\u0026sig=` + planted + `"`, `"u":"https://s3/x?limit=5\u0026sig=[redacted:query]"`},
		"a worker's code":          {"joins with abcdef.0123456789abcdef now\n", "joins with [redacted:code] now\n"},
		"a control plane's code":   {"joins with abcdef.0123456789abcdef.abcdefghijklmnopqrstuvwxyz now\n", "joins with [redacted:code] now\n"},
		"htpasswd":                 {"bank:$2y$10$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234\n", "bank:[redacted:hash]\n"},
		"shadow":                   {"root:$6$salt$abcdefghijklmnop:1:2\n", "root:[redacted:hash]:1:2\n"},
		"lines in JSON": {
			`{"m":"a\nBasic ` + packed + `\nabcdef.0123456789abcdef\n` + jwt + `\nbearer ` + planted + `-1\n"}`,
			`{"m":"a\nBasic [redacted:header]\n[redacted:code]\n[redacted:token]\nbearer [redacted:header]\n"}`,
		},
		"a Secret":          {"kind: Secret\ndata:\n  user: " + packed + "\nmetadata:\n  name: stays\n", "kind: Secret\ndata:\n  user: [redacted:secret]\nmetadata:\n  name: stays\n"},
		"a Secret in words": {"stringData:\n  user: " + planted + "\nkind: Secret\n", "stringData:\n  user: [redacted:secret]\nkind: Secret\n"},
		"a Secret in JSON": {
			"{\n  \"data\": {\n    \"user\": \"" + packed + "\"\n  },\n  \"kind\": \"Secret\"\n}\n",
			"{\n  \"data\": {\n    \"user\": \"[redacted:secret]\"\n  },\n  \"kind\": \"Secret\"\n}\n",
		},
		"a Secret in an annotation": {`last: {\"data\":{\"user\":\"` + packed + `\"},\"kind\":\"Secret\"}`, `last: {\"data\":{\"user\":\"[redacted:secret]\"},\"kind\":\"Secret\"}`},
		"a key in JSON": {
			`"key": "-----BEGIN EC PRIVATE KEY-----\n` + planted + `\n-----END EC PRIVATE KEY-----\n", "b"`,
			`"key": "-----BEGIN EC PRIVATE KEY-----[redacted:key]-----END EC PRIVATE KEY-----\n", "b"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := clean(t, c.text)
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if again := clean(t, got); again != got {
				t.Errorf("the second time it is\n%s", again)
			}
		})
	}
}

// TestHarmless: this is to be read.
func TestHarmless(t *testing.T) {
	for _, text := range []string{
		"automountServiceAccountToken: false\n", "tokenExpirationSeconds: 3600\n", "secretName: registry\n", "tokenFile: a\n",
		"- --service-account-signing-key-file=/etc/kubernetes/pki/sa.key\n", "password: null\n", "secret:\n  secretName: a\n",
		"X509v3 Basic Constraints: critical\n", "bearer authentication is off\n", "image: registry.k8s.io/pause@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n",
		`Get "https://10.0.0.11:6443/api/v1/nodes?fieldSelector=metadata.name%3Dnode1&limit=500&resourceVersion=0": dial tcp: connection refused` + "\n",
		`reflector.go:1] "Failed to watch" err="failed to list *v1.Secret: secrets is forbidden: User \"system:node:n1\" cannot list"` + "\n",
		"- --enable-bootstrap-token-auth=true\n- --kubelet-client-key=/etc/kubernetes/pki/a.key\n", "secret:\n    defaultMode: 420\n    secretName: tls\n",
		"certificate-authority-data: LS0tLS1CRUdJTg==\n", "-----BEGIN CERTIFICATE-----\nMIIBdjCCAR2gAwIBAgIBADAKBggqhkjOPQQDAjAjMSEwHwYDVQQDDBhrM3Mtc2Vy\n-----END CERTIFICATE-----\n",
		"authorization:\n  mode: Webhook\n", "a -A KUBE-SERVICES -d 10.96.0.10/32 -p udp -m comment --comment \"kube-system/kube-dns:dns cluster IP\"\n",
		"data:\n  Corefile: |\n    .:53 {\n        errors\n    }\n", "", "\n\n", "no line end",
		"private_key = \"/etc/airgap/pki/registry.key\"\n", "  credentials = []\n", `{"auth":{"mode":"x"}}`, "token=[redacted:field]\n",
		"passwordFile: /etc/x\n", "credentials=/root/.smb\n", "--token-auth-file /etc/x\n",
		"sudo: ops : TTY=pts/0 ; PWD=/home/ops ; USER=root ; COMMAND=/bin/ls\n", "OLDPWD=/data\n", "bypass=on, compass: north\n",
		"podUID=\"0d8f3f0a-8a7d-4d4e-9a3c-0123456789ab\" containerID=containerd://0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n",
		"docker://r.bank:5000/app@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n",
		"curl -fsSL https://r.bank:5000/v2/ -o x\n", "hostKey: SHA256:0123456789abcdef0123456789abcdef0123456789a\n",
		"mount -t nfs4 -o vers=4.2 h:/x /y\n", "비밀번호가 틀렸습니다\n", "토큰을 검증하지 못했습니다\n", "<secretName>tls</secretName>\n",
		"pin: cpu\n", "PIN?\n", "pin=1.36.3\n", "password is not set\n", "the password is incorrect.\n", "<token/>\n",
		"data: {mode: x, level: info}\n", "docker run -p 8080:80 -u 1000:1000 r.bank/x\n", "비밀번호는 저장하지 않습니다\n", "`C:\\users\\x`\n",
		"secret: {secretName: tls}\n", "/etc/id/pw/x\n",
		"MODULE_KEYS=\n", "next: a line\n", "password:\nnot indented\n", "Nov 23 10:00:00 n1 systemd[1]: Started Session 3 of User root.\n",
		"e2e: app.kubernetes.io/name=grafana, helm.sh/chart=grafana-10.1.2\n",
	} {
		if got := clean(t, text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// keysOf are private keys of each kind, in PEM.
func keysOf(t *testing.T) map[string][]byte {
	t.Helper()
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{"PKCS1": pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(r)})}
	sec1, err := x509.MarshalECPrivateKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	all["SEC1"] = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: sec1})
	for name, key := range map[string]any{"RSA": r, "ECDSA": ec, "Ed25519": ed} {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	}
	return all
}

// TestKeys: nothing of a key's lines is left, however a log shows them; and with the
// key known, in no form at all.
func TestKeys(t *testing.T) {
	for name, key := range keysOf(t) {
		t.Run(name, func(t *testing.T) {
			block, _ := pem.Decode(key)
			from, to := private(block)
			number := block.Bytes[from : from+min(32, to-from)]
			body := strings.Split(strings.TrimSpace(string(key)), "\n")
			body = body[1 : len(body)-1]
			without := func(what, text string, secrets ...string) {
				t.Helper()
				if !strings.Contains(text, "before") || !strings.Contains(text, "after") {
					t.Errorf("%s: the text around it is gone:\n%s", what, text)
				}
				for _, s := range secrets {
					if strings.Contains(text, s) {
						t.Errorf("%s: %q remains in\n%s", what, s, text)
					}
				}
			}
			without("a file", clean(t, "before\n"+string(key)+"after\n"), body...)
			without(
				"a journal",
				clean(t, "x: before\nNov 23 n1 app[1]: "+strings.ReplaceAll(strings.TrimSpace(string(key)), "\n", "\nNov 23 n1 other[2]: between two\nNov 23 n1 app[1]: ")+"\nx: it is after\n"),
				body...,
			)
			without("a cut journal", clean(t, "before\n"+string(key[:len(key)*2/3])+strings.Repeat("\nthis is later", apart+2)+"\nand after that"), body[:len(body)/2]...)
			without("a journal without its beginning", through(t, New(nil).Midway, "x "+strings.Join(body[len(body)/2:], "\nx ")+"\nx it is before\nafter\n", 7), body[len(body)/2:]...)

			var b Book
			b.AddFile(append([]byte("before\n"), key...))
			r := New(&b)
			twice := base64.StdEncoding.EncodeToString(key)
			for what, text := range map[string]string{
				"DER": string(block.Bytes), "hex": hex.EncodeToString(block.Bytes), "HEX": strings.ToUpper(hex.EncodeToString(block.Bytes)), "PEM": string(key),
				"base64": base64.StdEncoding.EncodeToString(append([]byte("x"), block.Bytes...)), "base64 for URLs": base64.RawURLEncoding.EncodeToString(block.Bytes),
				"base64 twice": twice, "base64 twice, later": base64.StdEncoding.EncodeToString(append([]byte("xy"), key...)), "base64, wrapped": twice[:len(twice)/2] + "\n" + twice[len(twice)/2:],
			} {
				for _, piece := range []int{1, 13, 1 << 20} {
					without(what, through(t, r.Gate, "before "+text+" after", piece), forms(number)...)
				}
			}
			if public := through(t, r.Gate, string(publicOf(t, key)), 100); public != string(publicOf(t, key)) {
				t.Errorf("the public half is taken for the private one:\n%s", public)
			}
			var packed Book
			packed.AddFile([]byte(`{"/etc/kubernetes/admin.conf": "` + base64.StdEncoding.EncodeToString([]byte("client-key-data: "+twice+"\n")) + `"}`))
			without("from a record", through(t, New(&packed).Gate, "before "+string(key)+" after", 64), forms(number)...)
		})
	}
}

func forms(number []byte) []string {
	all := []string{string(number), hex.EncodeToString(number), strings.ToUpper(hex.EncodeToString(number))}
	for before := range 3 {
		all = append(all, base64.StdEncoding.EncodeToString(append(make([]byte, before), number...))[before+2:40])
	}
	return all
}

func publicOf(t *testing.T, key []byte) []byte {
	t.Helper()
	block, _ := pem.Decode(key)
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		parsed, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	}
	if err != nil {
		parsed, err = x509.ParseECPrivateKey(block.Bytes)
	}
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(parsed.(crypto.Signer).Public())
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// TestBook: the secrets in the files of a host, each once, without short ones.
func TestBook(t *testing.T) {
	raw := []byte("0123456789abcdefghijklmnopqrstuv")
	encoded := base64.StdEncoding.EncodeToString(raw)
	var b Book
	for range 2 {
		b.AddFile([]byte("kind: EncryptionConfiguration\nkeys:\n- secret: " + encoded + "\n"))
		b.AddFile([]byte("token: abcdef.0123456789abcdef\nbank:$2y$10$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234\n"))
		b.Add([]byte("short"))
	}
	if b.Len() != 4 { // the key as it is and in base64
		t.Errorf("%d secrets", b.Len())
	}
	r := New(&b)
	for _, text := range []string{string(raw), encoded, hex.EncodeToString(raw), "$2y$10$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234", "abcdef.0123456789abcdef", encoded[:20], encoded[20:]} {
		if got := through(t, r.Gate, "a "+text+" b", 5); !strings.HasPrefix(got, "a [redacted:known]") || !strings.HasSuffix(got, " b") || strings.Contains(got, text) {
			t.Errorf("%q became %q", text, got)
		}
	}
	if n := r.Counts()[Known]; n < 7 {
		t.Errorf("counted %d", n)
	}
	if got := through(t, r.Gate, "short 0123456789abcde", 3); got != "short 0123456789abcde" {
		t.Errorf("got %q", got)
	}
}

// TestLongLines: a line that is longer than the buffer is cut, with a note, and no
// secret passes at the cut.
func TestLongLines(t *testing.T) {
	for _, shift := range []int{-1000, -100, -30, -10, -1, 0, 10, 1000} {
		line := strings.Repeat("x", longest+shift) + " http://bank:" + planted + "@10.0.0.1/ " + strings.Repeat("y", 1000)
		got := clean(t, "before\n"+line+"\nafter\n")
		if strings.Contains(got, planted[:4]) || !strings.HasPrefix(got, "before\nxxx") || !strings.HasSuffix(got, " more bytes of this line]\nafter\n") {
			t.Errorf("%d: …%s", shift, got[max(0, len(got)-300):])
		}
	}
	end := strings.Repeat("z", longest)
	if got := clean(t, end+"\n"); got != end+"\n" {
		t.Error("a line that just fits is cut")
	}
}

func TestFullDisk(t *testing.T) {
	var b Book
	b.Add([]byte(planted))
	for _, w := range []io.WriteCloser{New(nil).Writer(full{}), New(&b).Gate(full{}), New(&b).Midway(full{})} {
		_, err := io.Copy(w, iotest.OneByteReader(strings.NewReader("some text "+planted+"\nand more\n")))
		if err == nil {
			err = w.Close()
		}
		if err == nil {
			t.Error("no error")
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// FuzzWriter: with any text around them, a known secret and one on a separate line
// do not pass, and the result does not depend on the pieces of the text.
func FuzzWriter(f *testing.F) {
	f.Add("kind: Secret\ndata:\n  a: b\n", "after", 7)
	f.Add("-----BEGIN PRIVATE KEY-----\nMIIx", "\n-----END PRIVATE KEY-----", 1)
	f.Add(`{"password":"\"`, `"}`, 3)
	f.Add("stringData:\n  - name: TOKEN\n", "value: x", 64)
	f.Add("http://a:b@c?d=e&f=g eyJhbGciOiJSUzI1NiIsI.x Basic YTpi", "\x00\xff\r\n", 2)
	const known = "k0nwnS3cr3tOfThisHost"
	var b Book
	b.Add([]byte(known))
	r := New(&b)
	f.Fuzz(func(t *testing.T, before, after string, piece int) {
		if strings.Contains(before+after, planted[:8]) || strings.Contains(before+after, known[:8]) {
			return
		}
		text := before + known + after + "\npassword: " + planted + "\n" + after + hex.EncodeToString([]byte(known))
		got := through(t, r.Writer, text, 1+max(0, piece)%1000)
		for _, secret := range []string{planted, known, hex.EncodeToString([]byte(known))} {
			if strings.Contains(got, secret) {
				t.Errorf("%q is in %q", secret, got)
			}
		}
		if whole := through(t, r.Writer, text, len(text)); whole != got {
			t.Errorf("in one piece it is\n%q\nelse\n%q", whole, got)
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	line := `Nov 23 10:00:00 node1 kubelet[1234]: E1123 10:00:00.123456 1234 pod_workers.go:1301] "Error syncing pod, skipping" err="failed to \"StartContainer\" ` +
		`for \"x\"" pod="kube-system/coredns-abc" podUID="1-2-3"` + "\n"
	text := strings.Repeat(line, 10000)
	var book Book
	for i := range 50 {
		book.Add([]byte(strings.Repeat("secret", 30) + strings.Repeat("x", i)))
	}
	r := New(&book)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		w := r.Writer(io.Discard)
		_, _ = io.WriteString(w, text)
		_ = w.Close()
	}
}
