package host

import "testing"

func TestOperator(t *testing.T) {
	for name, c := range map[string]struct {
		uid  string
		env  map[string]string
		want string
	}{
		"a local user after su":  {"0", nil, "root"},
		"a user of a directory":  {"987654321", map[string]string{"SUDO_USER": "other"}, "uid 987654321"},
		"in a unit of a session": {noLogin, map[string]string{OperatorVariable: "kim", "SUDO_USER": "root"}, "kim"},
		"sudo without audit":     {"", map[string]string{"SUDO_USER": "kim"}, "kim"},
		"sudo within sudo":       {noLogin, map[string]string{"SUDO_USER": "root"}, ""},
		"a service":              {noLogin, nil, ""},
	} {
		if got := operatorOf(c.uid, func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
