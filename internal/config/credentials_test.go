package config

import (
	"strconv"
	"strings"
	"testing"
)

// FuzzCredentials writes a password into a good file, at any place and next to any
// text. If that is an error, the message does not contain the password.
func FuzzCredentials(f *testing.F) {
	const secret = "hunter2hunter2"
	forms := []func(user, rest string) (before, after string){
		func(user, rest string) (string, string) {
			return "https://dl.rocky", strconv.Quote("https://" + user + ":" + secret + "@" + rest)[1:]
		},
		func(user, rest string) (string, string) {
			return "https://dl.rockylinux.org/pub/rocky/9", strconv.Quote(user + ":" + secret + "@" + rest)
		},
		func(user, rest string) (string, string) {
			return "address: 10.0.0.12", "address: " + strconv.Quote("ssh://"+user+":"+secret+"@"+rest)
		},
		func(user, _ string) (string, string) {
			return "  port: 5000", "  port: 5000\n  " + strconv.Quote(user+"password") + ": " + secret
		},
		func(user, rest string) (string, string) {
			return "  port: 5000", "  port: 5000\n  token: {" + strconv.Quote(user) + ": " + strconv.Quote(rest) + ", token: " + secret + "}"
		},
		func(_, rest string) (string, string) {
			return "kind: Cluster\n", "kind: Cluster\nprivateKey: " + strconv.Quote("-----BEGIN PRIVATE KEY-----\n"+secret+rest) + "\n"
		},
	}
	for i := range forms {
		f.Add(uint8(i), "me", "mirror.example/el9")
		f.Add(uint8(i), "", "")
		f.Add(uint8(i), "a b", "::1]:%zz")
	}
	text := full(f)
	f.Fuzz(func(t *testing.T, form uint8, user, rest string) {
		was, is := forms[int(form)%len(forms)](user, rest)
		if !strings.Contains(text, was) {
			t.Fatalf("the good file has no %q", was)
		}
		_, err := Parse("airgap.yaml", []byte(strings.Replace(text, was, is, 1)))
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%q gives %v", is, err)
		}
	})
}
