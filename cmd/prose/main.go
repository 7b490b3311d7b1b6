// Prose measures how plain the English of this repository is, see internal/prose.
//
//	go run ./cmd/prose [-v] [-lower] [NAME…]
//
// It prints a table of packages and pages to stdout. It exits with 1 when one is above its limit, or
// when the allow list is out of date; stderr has each problem. A NAME is a package, a page, or a
// directory with several.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"airgap.dev/airgap/internal/prose"
)

// list has the rows above the limits. It may only shrink.
const list = "cmd/prose/allowed"

const listHeader = "# Packages and pages above the limits of go run ./cmd/prose, with today's rates. Lines may only be\n" +
	"# lowered and deleted: go run ./cmd/prose -lower does both.\n"

func main() {
	err := run(os.Stdout, os.Args[1:])
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%v\nprose: go run ./cmd/prose -v NAME lists the places; %s lists the rows that may be above a limit\n", err, list)
		os.Exit(1)
	}
}

func run(w io.Writer, args []string) error {
	flags := flag.NewFlagSet("prose", flag.ContinueOnError)
	verbose := flags.Bool("v", false, "list each place to reword as file:line, with its replacement")
	lower := flags.Bool("lower", false, "write today's rates into the allow list where they are lower")
	if err := flags.Parse(args); err != nil {
		return err
	}
	text, err := os.ReadFile(list)
	if err != nil {
		return fmt.Errorf("read the allow list (run this in the root of the repository): %w", err)
	}
	allowed, err := prose.ParseAllowed(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", list, err)
	}
	rows, err := prose.Measure(os.DirFS("."))
	if err != nil {
		return err
	}
	if *lower {
		allowed = allowed.Lower(rows)
		if err := os.WriteFile(list, []byte(listHeader+allowed.Format()), 0o644); err != nil { //nolint:gosec // the path is a constant
			return err
		}
	}
	chosen, err := choose(rows, flags.Args())
	if err != nil {
		return err
	}
	if *verbose {
		places(w, chosen)
	}
	if err := table(w, chosen); err != nil {
		return err
	}
	return allowed.Check(chosen, flags.NArg() == 0)
}

// choose returns the rows with one of the names, and those in a directory with one.
func choose(rows []prose.Row, names []string) ([]prose.Row, error) {
	if len(names) == 0 {
		return rows, nil
	}
	var chosen []prose.Row
	for _, r := range rows {
		if slices.ContainsFunc(names, func(name string) bool {
			name = strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/")
			return r.Name == name || strings.HasPrefix(r.Name, name+"/")
		}) {
			chosen = append(chosen, r)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no package or page is called %s", strings.Join(names, ", "))
	}
	return chosen, nil
}

func places(w io.Writer, rows []prose.Row) {
	for _, r := range rows {
		for _, f := range r.Findings {
			fmt.Fprintf(w, "%s:%d: %s: %q: write %s\n", f.File, f.Line, f.Kind, f.Text, f.Write)
		}
	}
}

// table prints rates and, in parentheses, numbers of places. ! marks a rate above its limit.
func table(w io.Writer, rows []prose.Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PER 1,000 WORDS\tWORDS\tMARKERS\t\"WHAT\"\tKOREAN TERMS")
	packages := slices.DeleteFunc(slices.Clone(rows), func(r prose.Row) bool { return r.Page })
	pages := slices.DeleteFunc(slices.Clone(rows), func(r prose.Row) bool { return !r.Page })
	for _, r := range slices.Concat(rows, []prose.Row{prose.Total("all packages", packages), prose.Total("all pages", pages)}) {
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%d\n", r.Name, r.Words, rate(r, prose.Marker), rate(r, prose.What), r.Count(prose.Korean))
	}
	return t.Flush()
}

func rate(r prose.Row, k prose.Kind) string {
	text := strconv.FormatFloat(r.Rate(k), 'f', 1, 64) + " (" + strconv.Itoa(r.Count(k)) + ")"
	if r.Exceeds(k) {
		text += " !"
	}
	return text
}
