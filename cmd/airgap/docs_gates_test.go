package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle/program"
)

var (
	codeSpan  = regexp.MustCompile("`([^`]+)`")
	gatesFlag = regexp.MustCompile(`^--([a-z-]+)`)
)

// TestGatesFlags: each flag and each command on the pages Gates and media exists, and each flag of a command belongs to it.
func TestGatesFlags(t *testing.T) {
	root := rootCommand(&app{})
	for _, page := range []string{"../../docs/gates.md", "../../docs/ko/gates.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		flags, commands := 0, 0
		for _, code := range codeIn(string(text)) {
			switch {
			case strings.HasPrefix(code, "airgap "):
				commands++
				checkCommand(t, page, root, code)
			case strings.HasPrefix(code, "--"):
				flags++
				if name := gatesFlag.FindStringSubmatch(code)[1]; !anyHas(root, name) {
					t.Errorf("%s: no command has the flag --%s", page, name)
				}
			}
		}
		if flags < 8 || commands < 30 {
			t.Errorf("%s: found %d flags and %d commands: does the search still work?", page, flags, commands)
		}
	}
}

// codeIn are the code spans and the lines of the code blocks, without comments.
func codeIn(page string) (all []string) {
	for i, part := range strings.Split(page, "```") {
		if i%2 == 0 {
			for _, m := range codeSpan.FindAllStringSubmatch(part, -1) {
				all = append(all, m[1])
			}
			continue
		}
		for line := range strings.Lines(part) {
			code, _, _ := strings.Cut(line, " #")
			all = append(all, strings.TrimSpace(code))
		}
	}
	return all
}

func checkCommand(t *testing.T, page string, root *cobra.Command, line string) {
	t.Helper()
	cmd, rest, err := root.Find(strings.Fields(strings.TrimPrefix(line, "airgap ")))
	if err != nil || cmd == root {
		t.Errorf("%s: %s: no such command", page, line)
		return
	}
	if cmd.HasSubCommands() && cmd.Run == nil && cmd.RunE == nil {
		t.Errorf("%s: %s: %s needs a subcommand", page, line, cmd.CommandPath())
	}
	for _, word := range rest {
		if m := gatesFlag.FindStringSubmatch(word); m != nil && !has(cmd, m[1]) {
			t.Errorf("%s: %s: %s has no flag --%s", page, line, cmd.CommandPath(), m[1])
		}
	}
}

func has(cmd *cobra.Command, flag string) bool {
	return cmd.Flags().Lookup(flag) != nil || cmd.InheritedFlags().Lookup(flag) != nil
}

func anyHas(root *cobra.Command, flag string) bool {
	for _, cmd := range program.Documented(root) {
		if has(cmd, flag) {
			return true
		}
	}
	return false
}

// TestGatesSentences: a cell with several sentences ends with a full stop.
func TestGatesSentences(t *testing.T) {
	quoted := regexp.MustCompile("`[^`]*`|\\([^)]*\\)")
	cellEnd := regexp.MustCompile(`[^\\]\|`)
	for _, page := range []string{"../../docs/gates.md", "../../docs/ko/gates.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		several := 0
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "| ") {
				continue
			}
			for _, cell := range cellEnd.Split(line[1:], -1) {
				words := strings.TrimSpace(quoted.ReplaceAllString(cell, "x"))
				if !strings.Contains(words, ". ") {
					continue
				}
				if several++; !strings.HasSuffix(words, ".") {
					t.Errorf("%s: no full stop: %s", page, cell)
				}
			}
		}
		if several < 10 {
			t.Errorf("%s: found %d cells with several sentences: does the search still work?", page, several)
		}
	}
}
