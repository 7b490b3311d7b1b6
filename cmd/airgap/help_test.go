package main

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"airgap.dev/airgap/bundle/program"
)

// helpColumns is the maximum width of a line in a help text.
const helpColumns = 100

// TestHelpTexts: each visible command has a short text, a long text and an example. The manual pages
// consist of these texts.
func TestHelpTexts(t *testing.T) {
	root := rootCommand(&app{})
	for _, cmd := range program.Documented(root) {
		name := cmd.CommandPath()
		first, _ := utf8.DecodeRuneInString(cmd.Short)
		if cmd.Short == "" || !unicode.IsUpper(first) || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: Short %q: want an imperative phrase, capitalized, without a full stop", name, cmd.Short)
		}
		if cmd.Long == "" || cmd.Long == cmd.Short {
			t.Errorf("%s has no Long", name)
		}
		if cmd != root && cmd.Example == "" {
			t.Errorf("%s has no Example", name)
		}
		for line := range strings.Lines(cmd.Long) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > helpColumns && cmd != root {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
		for line := range strings.Lines(cmd.Example) {
			checkExample(t, root, name, line)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || strings.HasSuffix(f.Usage, ".") {
				t.Errorf("%s --%s: usage %q: want some words without a full stop", name, f.Name, f.Usage)
			}
		})
	}
}

// checkExample checks that the commands and flags in an example exist.
func checkExample(t *testing.T, root *cobra.Command, of, line string) {
	t.Helper()
	if !strings.HasPrefix(line, "  ") {
		t.Errorf("%s: example %q is not indented", of, line)
	}
	if code, _, _ := strings.Cut(line, "#"); strings.Contains(strings.TrimSpace(code), "  ") {
		t.Errorf("%s: example %q: a shell runs text that does not begin with #", of, line)
	}
	words := strings.Fields(line)
	if words[0] != "airgap" {
		return // a line for another program
	}
	cmd, rest, err := root.Find(words[1:])
	if err != nil {
		t.Errorf("%s: example %q: %v", of, line, err)
		return
	}
	for _, word := range rest {
		if strings.ContainsAny(word[:1], "#|>") || strings.HasPrefix(word, "<(") {
			return
		}
		flag, is := strings.CutPrefix(word, "--")
		if flag, _, _ = strings.Cut(flag, "="); is && cmd.Flag(flag) == nil {
			t.Errorf("%s: example %q: %s has no flag --%s", of, line, cmd.CommandPath(), flag)
		}
	}
}

// TestCompleted: each flag with a value has shell completions.
func TestCompleted(t *testing.T) {
	root := rootCommand(&app{})
	for _, cmd := range program.Documented(root) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if _, said := cmd.GetFlagCompletionFunc(f.Name); !said && f.NoOptDefVal == "" {
				t.Errorf("%s --%s: add its completions to complete.go", cmd.CommandPath(), f.Name)
			}
		})
	}
	known := map[string]bool{}
	for _, cmd := range program.Documented(root) {
		path := strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "airgap"), " ")
		known[path] = true
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { known[f.Name], known[path+" "+f.Name] = true, true })
	}
	for name := range flagValues() {
		if !known[name] {
			t.Errorf("complete.go has the flag %q, but no command does", name)
		}
	}
	for path := range argumentValues() {
		if !known[path] {
			t.Errorf("complete.go has the command %q, which does not exist", path)
		}
	}
}
