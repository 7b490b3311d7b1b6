package inventory

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
)

// columns lists the columns of a CSV file, with the field of each. A header can have spaces, - or capitals too.
func columns() map[string]string {
	return map[string]string{
		"name": fieldName, "hostname": fieldName, "address": fieldAddress, "ip": fieldAddress,
		"role": fieldRoles, "roles": fieldRoles, "rack": fieldRack, "gpu": fieldGPU,
		"ssh_address": fieldHost, "ssh_user": fieldUser, "ssh_port": fieldPort,
		"ssh_identity_file": fieldKey, "ssh_host_key": fieldHostKey,
	}
}

// column is a column of the file.
type column struct{ name, field string } // field is "" for one that is left out

// csv reads a file with a header row: name,address,roles,rack. The columns are separated by commas,
// semicolons or tabs, as spreadsheets write them.
func (r *reader) csv(data []byte) []entry {
	c := csv.NewReader(bytes.NewReader(data))
	c.Comma, c.FieldsPerRecord, c.Comment = separator(data), -1, '#'
	c.TrimLeadingSpace = c.Comma != '\t'
	var fields []column
	var all []entry
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) || r.stopped {
			return all
		}
		if wrong, is := errors.AsType[*csv.ParseError](err); is {
			r.fault(wrong.Line, "", "the row is not CSV (%v): want values in quotes if they have quotes or separators", wrong.Err)
			return nil
		}
		if err != nil {
			r.fault(1, "", "read the rows: %v", err)
			return nil
		}
		line, _ := c.FieldPos(0)
		switch {
		case strings.TrimSpace(strings.Join(row, "")) == "":
		case fields == nil:
			if fields = r.header(line, row); fields == nil {
				return nil
			}
		case len(row) != len(fields):
			r.fault(line, "", "the row has %d values, and the header %d: want a value or nothing for each column", len(row), len(fields))
		default:
			all = append(all, r.row(line, fields, row))
		}
	}
}

// separator is the most frequent one in the first line.
func separator(data []byte) rune {
	first, _, _ := bytes.Cut(bytes.TrimLeft(data, "\r\n"), []byte("\n"))
	best := ','
	for _, c := range []rune{';', '\t'} {
		if bytes.Count(first, []byte(string(c))) > bytes.Count(first, []byte(string(best))) {
			best = c
		}
	}
	return best
}

// header returns the columns; nil with a problem.
func (r *reader) header(line int, row []string) []column {
	before := len(r.problems)
	fields := make([]column, len(row))
	has := func(field string, columns []column) bool {
		return slices.ContainsFunc(columns, func(c column) bool { return c.field == field })
	}
	for i, text := range row {
		name := strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(strings.TrimSpace(text)))
		if name == "" {
			r.fault(line, "", "column %d has no name: want one of the known columns, or a name for --ignore", i+1)
			continue
		}
		field := r.variable("column", line, name, "", columns())
		if field != "" && has(field, fields[:i]) {
			r.fault(line, name, "two columns are the %s of the node: want one", field)
		}
		fields[i] = column{name, field}
	}
	for _, needed := range []string{fieldName, fieldAddress, fieldRoles} {
		if len(r.problems) == before && !has(needed, fields) {
			r.fault(line, "", "the header has no column %s: want a first row such as name,address,roles,rack", needed)
		}
	}
	if len(r.problems) > before {
		return nil
	}
	return fields
}

// row makes the host of a row.
func (r *reader) row(line int, fields []column, row []string) entry {
	e := entry{line: line, variables: map[string]variable{}}
	for i, c := range fields {
		value := strings.TrimSpace(row[i])
		if c.field == "" || value == "" {
			continue
		}
		if r.variable("column", line, c.name, value, columns()) == "" {
			continue
		}
		e.variables[c.field] = variable{c.field, value, line}
	}
	e.name = e.variables[fieldName].value
	if e.name == "" {
		r.fault(line, fieldName, "want the name of the host")
	}
	e.roles = strings.FieldsFunc(e.variables[fieldRoles].value, func(c rune) bool { return strings.ContainsRune(" +,;|/", c) })
	r.markGPU(&e)
	if len(e.roles) == 0 {
		r.fault(line, fieldRoles, "want one or several of control-plane, worker and gpu, with a space between them")
	}
	return e
}

// markGPU adds the role gpu if the column gpu has yes.
func (r *reader) markGPU(e *entry) {
	v := e.variables[fieldGPU]
	switch strings.ToLower(v.value) {
	case "yes", "true", "y", "1":
		if !slices.Contains(e.roles, "gpu") {
			e.roles = append(e.roles, "gpu")
		}
	case "", "no", "false", "n", "0":
	default:
		r.fault(v.line, fieldGPU, "want yes or no")
	}
}
