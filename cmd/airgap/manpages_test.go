package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/bundle/program"
)

// TestManPages: each page has the flags of its command and the given month, but no data of the build
// user.
func TestManPages(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", "/home/user/config")
	at := time.Date(2031, time.May, 31, 23, 30, 0, 0, time.FixedZone("west", -7200)) // June in UTC
	pages, err := program.ManPages(commands(), at)
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range program.Documented(commands()) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		page := string(pages[name])
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Annotations[renamedTo] == nil && !strings.Contains(page, `--`+f.Name+`\fP`) {
				t.Errorf("%s has no --%s", name, f.Name)
			}
		})
		for _, want := range []string{` "1" "Jun 2031" "airgap `, ".SH DESCRIPTION\n"} {
			if !strings.Contains(page, want) {
				t.Errorf("%s has no %q", name, want)
			}
		}
		for _, not := range []string{"/home/", "cobra", "2031-", "```"} {
			if strings.Contains(page, not) {
				t.Errorf("%s contains %q", name, not)
			}
		}
	}
	if page := string(pages["airgap-bundle.1"]); !strings.Contains(page, `--keys\fP="~/.config/airgap/keys"`) || !strings.Contains(page, ".EX\n  apiVersion: airgap.dev/v1alpha1\n  kind: Cluster\n") {
		t.Errorf("airgap-bundle.1 has no default directory, or no unchanged airgap.yaml:\n%s", page)
	}
}

// TestManPagesAsShown renders all pages with groff. A warning means an unintended markup character.
func TestManPagesAsShown(t *testing.T) {
	bundletest.Need(t, "groff")
	pages, err := program.ManPages(commands(), time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, page := range pages {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, page, 0o644); err != nil {
			t.Fatal(err)
		}
		var warnings bytes.Buffer
		groff := exec.Command("groff", "-man", "-Tutf8", "-Kutf8", "-wall", "-rLL=200n", "-P-cbou", file)
		groff.Stderr = &warnings
		shown, err := groff.Output()
		if err != nil || warnings.Len() > 0 {
			t.Errorf("groff %s: %v: %s", name, err, &warnings)
		}
		if name == "airgap-bundle.1" && !bytes.Contains(shown, []byte("directory with the files of airgap survey or its script (*.facts.yaml, *.survey, *.survey.gz)")) {
			t.Errorf("airgap-bundle.1 is shown as\n%s", shown)
		}
	}
}
