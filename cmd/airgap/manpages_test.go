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

// TestManPages: each has its command's flags, the month that it was given, and
// nothing of whoever makes them.
func TestManPages(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", "/home/somebody/config")
	at := time.Date(2031, time.May, 31, 23, 30, 0, 0, time.FixedZone("west", -7200)) // June in UTC
	pages, err := program.ManPages(commands(), at)
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range program.Documented(commands()) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		page := string(pages[name])
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(page, `--`+f.Name+`\fP`) {
				t.Errorf("%s lacks --%s", name, f.Name)
			}
		})
		for _, want := range []string{` "1" "Jun 2031" "airgap `, ".SH DESCRIPTION\n"} {
			if !strings.Contains(page, want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
		for _, not := range []string{"/home/", "cobra", "2031-", "```"} {
			if strings.Contains(page, not) {
				t.Errorf("%s says %q", name, not)
			}
		}
	}
	if page := string(pages["airgap-bundle.1"]); !strings.Contains(page, `--keys\fP="~/.config/airgap/keys"`) || !strings.Contains(page, ".EX\n  apiVersion: airgap.dev/v1alpha1\n  kind: Cluster\n") {
		t.Errorf("airgap-bundle.1 lacks the usual directory, or airgap.yaml as it is:\n%s", page)
	}
}

// TestManPagesAsShown has groff read all pages: whatever it complains of is a
// mark that we did not mean.
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
		var complains bytes.Buffer
		groff := exec.Command("groff", "-man", "-Tutf8", "-Kutf8", "-wall", "-rLL=200n", "-P-cbou", file)
		groff.Stderr = &complains
		shown, err := groff.Output()
		if err != nil || complains.Len() > 0 {
			t.Errorf("groff %s: %v: %s", name, err, &complains)
		}
		if name == "airgap-bundle.1" && !bytes.Contains(shown, []byte("directory of what airgap survey or its script wrote on the servers (*.facts.yaml, *.survey, *.survey.gz)")) {
			t.Errorf("airgap-bundle.1 is shown as\n%s", shown)
		}
	}
}
