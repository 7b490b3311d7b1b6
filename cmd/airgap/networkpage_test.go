package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airgap.dev/airgap/cluster/measure"
	"airgap.dev/airgap/internal/advice"
)

// TestNetworkPageLanguage: --language ko or a Korean locale writes the page in Korean, and other languages than en and ko
// are an error of usage.
func TestNetworkPageLanguage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "airgap.yaml")
	if err := os.WriteFile(file, []byte(docsSite), 0o600); err != nil {
		t.Fatal(err)
	}
	page := func(args ...string) (string, error) {
		var out strings.Builder
		a := &app{stdout: &out, output: asHTML}
		cmd := netprobePageCommand(a)
		cmd.SetArgs(append([]string{"--file", file}, args...))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		err := cmd.Execute()
		return out.String(), err
	}
	t.Setenv("LC_ALL", "ko_KR.UTF-8")
	if got, err := page(); err != nil || !strings.Contains(got, `<html lang="ko">`) {
		t.Errorf("in a Korean locale: %v:\n%s", err, got)
	}
	if got, err := page("--language", "en"); err != nil || !strings.Contains(got, `<html lang="en">`) {
		t.Errorf("--language en in a Korean locale: %v:\n%s", err, got)
	}
	t.Setenv("LC_ALL", "C")
	for language, want := range map[string]string{"": "<h2>Connections</h2>", "en": `<html lang="en">`, "ko": "<h2>연결</h2>"} {
		var args []string
		if language != "" {
			args = []string{"--language", language}
		}
		if got, err := page(args...); err != nil || !strings.Contains(got, want) {
			t.Errorf("--language %s: no %q, %v:\n%s", language, want, err, got)
		}
	}
	if got, err := page("--language", "fr"); !advice.IsUsage(err) || !strings.Contains(err.Error(), "use en or ko") || got != "" {
		t.Errorf("--language fr: %q, %v", got, err)
	}
}

// TestLanguageOfTheLocale: a page of --network-page without --language is in the language of the locale.
func TestLanguageOfTheLocale(t *testing.T) {
	t.Setenv("LC_ALL", "ko_KR.UTF-8")
	for selected, want := range map[string]string{"": "ko", "en": "en"} {
		page := measure.File{Path: "network.html", Language: selected}
		if err := checkPage(netprobePageCommand(&app{}), &page); err != nil || page.Language != want {
			t.Errorf("--language %q: %q, %v", selected, page.Language, err)
		}
	}
}

// TestMeasuredPageLanguage: the commands that measure the network have the language of the page, too. They
// refuse it without the page, and check it before they measure.
func TestMeasuredPageLanguage(t *testing.T) {
	for _, command := range []string{"preflight bank --all-hosts", "netprobe listen bank"} {
		for flags, want := range map[string]string{
			"--language ko": "--language requires --network-page",
			"--network-page network.html --language fr":     "--language fr is not supported, use en or ko",
			"--network-page no/dir/n.html --language ko":    "--network-page no/dir/n.html",
			"--network-page no/dir/network.html --node cp1": "--network-page no/dir/network.html",
		} {
			var out, errs strings.Builder
			code := run(t.Context(), strings.Fields(command+" "+flags), strings.NewReader(""), &out, &errs)
			if os.Geteuid() != 0 && code == 1 && strings.Contains(errs.String(), "requires root") {
				continue // only root gets to the page
			}
			if code != 2 || !strings.Contains(errs.String(), want) {
				t.Errorf("airgap %s %s: %d\n%s%s", command, flags, code, &out, &errs)
			}
		}
	}
}
