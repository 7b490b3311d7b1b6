package rpm

import (
	"reflect"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/enterprise"
)

func TestConfig(t *testing.T) {
	tests := []struct {
		name, yaml string
		want       []string // fields with problems, in order
	}{
		{"empty", "{}", nil},
		{"valid", `{os: el8, install: [socat, kubelet-1.36.3, gcc-c++-11-1.el9], repositories: [{name: base-os, baseURL: "https://m/x", gpgKeys: ["https://m/key", /etc/pki/key, "file:///etc/key"]}]}`, nil},
		{"all fields invalid", `{os: el7, install: ["a b", "--all"], repositories: [{name: A, baseURL: "ftp://m", gpgKeys: []}` +
			`, {name: b, baseURL: "https://u:p@m/", gpgKeys: ["ftp://k"]}, {name: b, baseURL: "http://m/"}]}`,
			[]string{"packages.os", "packages.repositories[0].name", "packages.repositories[0].baseURL", "packages.repositories[0].gpgKeys",
				"packages.repositories[1].baseURL", "packages.repositories[1].gpgKeys[0]", "packages.repositories[2].name",
				"packages.repositories[2].gpgKeys", "packages.install[0]", "packages.install[1]"}},
		{"mirrors", `{repositories: [{name: a, mirrorList: "https://m/list", gpgKeys: [k]}, {name: b, metalink: "https://m/link", gpgKeys: [k]}, {name: c, gpgKeys: [k]}` +
			`, {name: d, baseURL: "https://m/", metalink: "m", gpgKeys: [k]}]}`,
			[]string{"packages.repositories[2].baseURL", "packages.repositories[3].metalink", "packages.repositories[3].baseURL"}},
		{"logins", `{repositories: [{name: a, baseURL: "https://m/", gpgKeys: [k], login: {clientCert: c.pem, username: me, passwordFile: p}}` +
			`, {name: c, baseURL: "http://m/", gpgKeys: [k], login: {username: me}}, {name: b, metalink: "https://m/", gpgKeys: [k], login: {clientKey: k.pem, passwordFile: p, passwordEnv: P}}]}`,
			[]string{
				"packages.repositories[1].login", "packages.repositories[2].login", "packages.repositories[2].login.clientCert",
				"packages.repositories[2].login.username", "packages.repositories[2].login.passwordEnv",
			}},
		{"modules", `{modules: [nginx, "nginx:1.24", "a b:c"]}`, []string{"packages.modules[0]", "packages.modules[2]"}},
		{"install without repositories", `{install: [socat]}`, []string{"packages.repositories"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var c Config
			if err := yaml.Unmarshal([]byte(tt.yaml), &c); err != nil {
				t.Fatal(err)
			}
			c.Default()
			var got []string
			for _, e := range c.Validate(field.NewPath("packages")) {
				got = append(got, e.Field)
			}
			if strings.Join(got, " ") != strings.Join(tt.want, " ") {
				t.Errorf("got  %v\nwant %v", got, tt.want)
			}
		})
	}
}

// TestEveryReleaseHasProfile: each release in the table has a profile and is a value of the schema.
func TestEveryReleaseHasProfile(t *testing.T) {
	of, _ := reflect.TypeFor[Config]().FieldByName("OS")
	for _, os := range enterprise.Names() {
		if _, err := readProfile(os); err != nil {
			t.Error(err)
		}
		if !strings.Contains(of.Tag.Get("jsonschema")+",", "enum="+os+",") {
			t.Errorf("the schema of packages.os does not have %s: %s", os, of.Tag)
		}
	}
	if got := strings.Count(of.Tag.Get("jsonschema"), "enum="); got != len(enterprise.Names()) {
		t.Errorf("the schema of packages.os has %d values", got)
	}
}
