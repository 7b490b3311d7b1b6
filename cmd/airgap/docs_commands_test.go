package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"airgap.dev/airgap/bundle/program"
	"airgap.dev/airgap/internal/exitcode"
)

// TestDocsCommands: each visible command has a page with its help, also the commands of cobra,
// except help.
func TestDocsCommands(t *testing.T) {
	rows := [][]string{{"Command", "Description"}}
	pages := map[string]bool{}
	root := rootCommand(&app{})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range program.Documented(root)[1:] {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".md"
		pages[name] = true
		keep(t, "commands/"+name, commandPage(cmd))
		rows = append(rows, []string{"[" + cmd.CommandPath() + "](commands/" + name + ")", cmd.Short})
	}
	made(t, "commands.md", "commands", markdownTable(rows...))
	noOthers(t, "commands", pages)
}

func commandPage(cmd *cobra.Command) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s.\n\n```\n%s\n```\n", cmd.CommandPath(), cmd.Short, cmd.UseLine())
	if cmd.Long != "" {
		fmt.Fprintf(&b, "\n%s\n", paragraphs(cmd.Long))
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\n## Examples\n\n```\n%s\n```\n", unindent(cmd.Example))
	}
	rows := [][]string{{"Flag", "Default", "Description"}}
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			rows = append(rows, flagRow(f))
		}
	})
	if len(rows) > 1 {
		b.WriteString("\n## Flags\n\n" + markdownTable(rows...))
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\n## Subcommands\n\n")
		for _, sub := range cmd.Commands() {
			if !sub.Hidden {
				fmt.Fprintf(&b, "- [%s](%s.md): %s\n", sub.CommandPath(), strings.ReplaceAll(sub.CommandPath(), " ", "-"), sub.Short)
			}
		}
	}
	fmt.Fprintf(&b, "\nOutput formats: `--output` %s. [Exit codes](../exit-codes.md). [All commands](../commands.md).\n", strings.Join(formatsOf(cmd), ", "))
	return []byte(b.String())
}

func flagRow(f *pflag.Flag) []string {
	name := "`--" + f.Name
	if f.Shorthand != "" {
		name = "`-" + f.Shorthand + ", --" + f.Name
	}
	kind, about := pflag.UnquoteUsage(f)
	if kind != "" {
		name += " " + kind
	}
	def := ""
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" && f.DefValue != "0s" {
		def = "`" + strings.ReplaceAll(f.DefValue, os.Getenv("HOME")+"/", "~/") + "`"
	}
	return []string{name + "`", def, about}
}

// paragraphs converts a help text to Markdown. Indented lines become code blocks.
func paragraphs(help string) string {
	var b strings.Builder
	code := false
	for line := range strings.Lines(strings.TrimSpace(help) + "\n") {
		indented := strings.HasPrefix(line, "  ")
		switch {
		case indented && !code:
			b.WriteString("\n```\n")
			code = true
		case !indented && code && strings.TrimSpace(line) != "":
			b.WriteString("```\n\n")
			code = false
		}
		if code {
			line = strings.TrimPrefix(line, "  ")
		} else {
			line = strings.NewReplacer("<", "\\<", "*", "\\*", "[", "\\[").Replace(line)
		}
		b.WriteString(line)
	}
	if code {
		b.WriteString("```\n")
	}
	text := strings.ReplaceAll(b.String(), "\n\n\n", "\n\n")
	return strings.TrimSpace(strings.ReplaceAll(text, "\n\n```\n\n", "\n```\n\n"))
}

func unindent(example string) string {
	var lines []string
	for line := range strings.Lines(example) {
		lines = append(lines, strings.TrimPrefix(strings.TrimRight(line, "\n"), "  "))
	}
	return strings.Join(lines, "\n")
}

// TestDocsExitCodes: the page has each exit code with its meaning, as in --help.
func TestDocsExitCodes(t *testing.T) {
	rows := [][]string{{"Code", "Meaning"}}
	_, list, found := strings.Cut(about, "Exit codes: ")
	if !found {
		t.Fatal("the help has no exit codes")
	}
	for entry := range strings.SplitSeq(strings.TrimSuffix(list, "."), ", ") {
		code, meaning, _ := strings.Cut(entry, " ")
		rows = append(rows, []string{"**" + code + "**", meaning})
	}
	for _, code := range []int{exitcode.OK, exitcode.Failed, exitcode.Usage, exitcode.Preflight, exitcode.Verify, exitcode.Incomplete, exitcode.Interrupted} {
		if !slices.ContainsFunc(rows, func(row []string) bool { return row[0] == fmt.Sprintf("**%d**", code) }) {
			t.Errorf("the help does not describe exit code %d", code)
		}
	}
	made(t, "exit-codes.md", "exit-codes", markdownTable(rows...))
	inKorean(t, "exit-codes.md", "exit-codes", rows)
}
