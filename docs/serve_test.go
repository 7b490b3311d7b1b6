package docs

import "testing"

// TestSpoken: the first variable that is set decides, like in libc.
func TestSpoken(t *testing.T) {
	for of, want := range map[[3]string]Language{
		{}:                                  English,
		{"", "", "ko_KR.UTF-8"}:             Korean,
		{"", "", "ko"}:                      Korean,
		{"", "", "ko.UTF-8"}:                Korean,
		{"", "", "kok_IN"}:                  English, // Konkani
		{"", "", "de_DE.UTF-8"}:             English,
		{"", "ko_KR.eucKR", "en_US.UTF-8"}:  Korean,
		{"C", "ko_KR.UTF-8", "ko_KR.UTF-8"}: English,
		{"ko_KR.UTF-8@x", "C.UTF-8", "C"}:   Korean,
		{"", "C.UTF-8", "ko_KR.UTF-8"}:      English,
	} {
		env := map[string]string{"LC_ALL": of[0], "LC_MESSAGES": of[1], "LANG": of[2]}
		if got := EnvLanguage(func(name string) string { return env[name] }); got != want {
			t.Errorf("%v: got %s, want %s", env, got, want)
		}
	}
}
