package preflight

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/internal/outlier"
)

func entry(id string, status Status, found string) Entry {
	return Entry{ID: id, Title: "Title of " + id, Source: "x", Result: Result{Status: status, Found: found}}
}

// threeHosts has reports of different releases: only one has check b, only another has check e.
func threeHosts() Reports {
	day := time.Unix(1_795_000_000, 0).UTC()
	failed := Entry{ID: "swap", Title: "Swap is off", Source: "kubeadm Swap", Site: "severity fail", Result: Result{Fail, "/dev/dm-1\n/dev/dm-2", "no active swap", "swapoff -a"}}
	other := failed
	other.Found = "/dev/dm-7"
	all := Reports{
		{Host: "db1", System: "Rocky Linux 9.6", Kernel: "5.14", Taken: day, Worst: Fail, Results: []Entry{entry("a", Pass, "fine"), entry("b", Warn, "old"), failed}},
		{Host: "db2", System: "Rocky Linux 9.6", Kernel: "5.14", Taken: day.Add(time.Hour), Worst: Fail, Results: []Entry{failed, entry("memory", Error, "unknown"), entry("a", Pass, "fine")}},
		{Host: "db3", System: "AlmaLinux 9.5", Kernel: "5.14", Taken: day, Worst: Pass, Results: []Entry{entry("e", Skip, "no role gpu"), entry("a", Pass, "fine")}},
		{Host: "db1", Taken: day, Worst: Fail, Results: []Entry{other}},
	}
	for i := range all {
		all[i].Traits = []outlier.Trait{{Name: "MTU", Value: map[bool]string{true: "9000", false: "1500"}[i == 1]}}
	}
	return all
}

func TestHTML(t *testing.T) {
	golden(t, "hosts.html", threeHosts().HTML)
	golden(t, "host.html", threeHosts()[:1].HTML)
}

func TestReportsJUnit(t *testing.T) { golden(t, "hosts.xml", threeHosts().JUnit) }

// TestPage: the rows are the union of the checks, with unknown checks of other releases last. Hosts
// with the same finding are grouped.
func TestPage(t *testing.T) {
	p := newPage(threeHosts())
	var ids, names []string
	for _, c := range p.Checks {
		ids = append(ids, c.ID)
	}
	for _, h := range p.Hosts {
		names = append(names, h.Name)
	}
	if want := []string{"memory", "swap", "a", "b", "e"}; !slices.Equal(ids, want) {
		t.Errorf("rows %q, want %q", ids, want)
	}
	if want := []string{"db1", "db2", "db3", "db1 (2)"}; !slices.Equal(names, want) {
		t.Errorf("columns %q, want %q", names, want)
	}
	swap := p.Checks[1]
	if len(swap.Findings) != 2 || !slices.Equal(swap.Findings[0].Hosts, []string{"db1", "db2"}) || !slices.Equal(swap.Findings[1].Hosts, []string{"db1 (2)"}) || swap.Stopped() != 3 {
		t.Errorf("findings of swap: %+v", swap.Findings)
	}
	if cells := p.Tables[0].Rows[0].Cells; cells[1].Status != Error || cells[2].Status != "" {
		t.Errorf("cells of memory: %+v", cells)
	}
	if p.Ready() != 1 || len(p.Blocking()) != 2 || len(p.Warnings()) != 1 {
		t.Errorf("%d ready, blocking %+v, warnings %+v", p.Ready(), p.Blocking(), p.Warnings())
	}
}

// TestPageSheets: every host is on a sheet, and no sheet has too many hosts.
func TestPageSheets(t *testing.T) {
	for n, want := range map[int][]int{0: nil, 1: {1}, 14: {14}, 15: {8, 7}, 40: {14, 14, 12}} {
		var all Reports
		for i := range n {
			all = append(all, Report{Host: fmt.Sprint("db", i), Results: []Entry{entry("a", Pass, "fine")}})
		}
		var sheets []int
		for _, table := range newPage(all).Tables {
			sheets = append(sheets, len(table.Hosts))
		}
		if !slices.Equal(sheets, want) {
			t.Errorf("%d hosts in tables of %v, want %v", n, sheets, want)
		}
		if err := all.HTML(io.Discard); err != nil {
			t.Error(err)
		}
	}
}

// TestHTMLShowsForeignTextAsText: text from a host is escaped, and the page loads nothing.
func TestHTMLShowsForeignTextAsText(t *testing.T) {
	const hostile = `"'><script>alert(1)</script><img src=x onerror=alert(2)></style></title>{{.}}` + "`javascript:alert(3)//\u202e\x00"
	e := Entry{ID: hostile, Title: hostile, Source: hostile, Site: hostile, Result: Result{Fail, hostile, hostile, hostile}}
	one := Report{Host: hostile, System: hostile, Kernel: hostile, Worst: Fail, Results: []Entry{e}}
	e.Status = hostile
	for _, all := range []Reports{{one}, {one, one, {Host: hostile, Results: []Entry{e}}}} {
		var b bytes.Buffer
		if err := all.HTML(&b); err != nil {
			t.Fatal(err)
		}
		if shown := visible(t, &b); strings.Count(shown, "<script>alert(1)</script><img src=x") < 8 {
			t.Errorf("the text is not on the page:\n%s", shown)
		}
	}
}

// visible returns the text of a page. It reports tags and attributes that are not in the template.
func visible(t *testing.T, page io.Reader) string {
	t.Helper()
	var text strings.Builder
	d := xml.NewDecoder(page)
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return text.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.CharData:
			text.Write(token)
		case xml.StartElement:
			if !slices.Contains(strings.Fields("html head meta title style body h1 h2 h3 p b a small code span div section table thead tbody tr th td"), token.Name.Local) {
				t.Errorf("foreign text became <%s>", token.Name.Local)
			}
			for _, a := range token.Attr {
				if token.Name.Local != "meta" && !slices.Contains(strings.Fields("lang class id scope href"), a.Name.Local) || a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#check-") {
					t.Errorf("<%s> got %s=%q", token.Name.Local, a.Name.Local, a.Value)
				}
			}
		}
	}
}

func TestReadReports(t *testing.T) {
	written, err := json.Marshal(threeHosts())
	if err != nil {
		t.Fatal(err)
	}
	all, err := ReadReports(bytes.NewReader(written))
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := json.Marshal(all); !bytes.Equal(again, written) {
		t.Errorf("came back as\n%s, written\n%s", again, written)
	}
	one, err := ReadReports(strings.NewReader(` {"host": "a\u001b[2K\nb", "new": [1], "worst": "pass", "results": [{"id": "x", "status": "fail", "found": "1\u202e\r2\n\t3", ` +
		`"capture": ["b\u001b[2K\n"]}]} `))
	if err != nil {
		t.Fatal(err)
	}
	if got := one[0]; got.Host != "a\ufffd[2K b" || got.Results[0].Found != "1\ufffd\ufffd2\n 3" || got.Worst != Fail || got.Results[0].Capture[0] != "b\ufffd[2K " {
		t.Errorf("read as %+v", got)
	}
}

func TestReadReportsRefuses(t *testing.T) {
	const result = `{"id": "swap", "status": "pass"}`
	for text, want := range map[string]string{
		"":                             "the file is empty",
		"null":                         "host or results are missing",
		"[]":                           "the list is empty",
		"7":                            "parse the output of airgap preflight",
		`{"host": "a"`:                 "unexpected end of JSON",
		`{"preflight": {"host": "a"}}`: "host or results are missing",
		`{"host": "a", "results": []}`: "host or results are missing",
		`[{"host": "a", "results": [` + result + `]}, {}]`:                   "report 2 of 2: host or results are missing",
		`{"host": "a", "results": [` + result + `]} {}`:                      "after top-level value",
		`{"host": "a", "results": [` + result + `, ` + result + `]}`:         `a: result 2 has the id "swap"`,
		`{"host": "a", "results": [{"status": "pass"}]}`:                     `result 1 has the id ""`,
		`{"host": "a", "results": [{"id": "swap", "status": "unheard of"}]}`: `check swap has the unknown status "unheard of"`,
		strings.Repeat(" ", maxReports+1):                                    "larger than 64 MiB",
	} {
		if _, err := ReadReports(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v, want %q", text, err, want)
		}
	}
}
