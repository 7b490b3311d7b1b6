package process

import "testing"

func TestFlags(t *testing.T) {
	got := Flags([]string{"--a=1", "--b", "2", "--c", "--d_e=3", "--a=2", "--a=2", "x", "--"})
	for name, want := range map[string]string{"a": "1,2,2", "b": "2", "c": "true", "d-e": "3"} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}
