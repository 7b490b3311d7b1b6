// Package faulttable has the results of faults of networks: the rows that a run writes, and the page
// NETWORK.md, which compares two runs.
package faulttable

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Row is the result of a network.
type Row struct {
	Name   string
	Right  bool // all expected findings and, without a fault, none
	Took   time.Duration
	Named  []string // findings that name the fault
	Others []string
}

const indent = "               "

// Marks of the lines of a row.
const (
	namedMark = indent + "+ "
	otherMark = indent + "| "
	errorMark = indent + "! "
)

// WriteRow writes a row of a run.
func WriteRow(log io.Writer, r Row, err error) {
	state := "WRONG"
	if r.Right {
		state = "right"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %5.1f s  %s\n", state, r.Took.Seconds(), r.Name)
	for _, line := range r.Named {
		b.WriteString(namedMark + line + "\n")
	}
	for _, line := range r.Others {
		b.WriteString(otherMark + line + "\n")
	}
	if err != nil {
		b.WriteString(errorMark + strings.ReplaceAll(err.Error(), "\n", "\n"+errorMark) + "\n")
	}
	_, _ = io.WriteString(log, b.String())
}

// Read reads the rows of runs. Other lines are no rows.
func Read(log io.Reader) ([]Row, error) {
	var rows []Row
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		line := lines.Text()
		if row, is := parse(line); is {
			rows = append(rows, row)
			continue
		}
		if len(rows) == 0 {
			continue
		}
		last := &rows[len(rows)-1]
		if text, is := strings.CutPrefix(line, namedMark); is {
			last.Named = append(last.Named, text)
		} else if text, is := strings.CutPrefix(line, otherMark); is {
			last.Others = append(last.Others, text)
		}
	}
	return rows, lines.Err()
}

// parse reads the first line of a row.
func parse(line string) (Row, bool) {
	right := strings.HasPrefix(line, "right  ")
	if !right && !strings.HasPrefix(line, "WRONG  ") {
		return Row{}, false
	}
	seconds, name, is := strings.Cut(line[len("right  "):], " s  ")
	took, err := strconv.ParseFloat(strings.TrimSpace(seconds), 64)
	return Row{Name: name, Right: right, Took: time.Duration(took * float64(time.Second))}, is && err == nil
}
