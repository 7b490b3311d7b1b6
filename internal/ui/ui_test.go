package ui_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"airgap.dev/airgap/internal/ui"
)

func TestPlainAndBarsOffTerminal(t *testing.T) {
	var w bytes.Buffer
	p := ui.New(&w, ui.Auto)
	task := p.Task("images", 2_500_000_000, true)
	task.Add(2_500_000_000)
	task.End(nil)
	p.Task("files", 3, false).End(errors.New("gone"))
	p.Close()
	for _, want := range []string{"images: 2.5 GB\n", "images: done, 2.5 GB in ", "files: 3\n", "files: stopped after 0 of 3, "} {
		if !strings.Contains(w.String(), want) {
			t.Errorf("%q is not in\n%s", want, w.String())
		}
	}
	if strings.Contains(w.String(), "\x1b") {
		t.Error("control sequences off a terminal")
	}
}

func TestJSONIsOneObjectALine(t *testing.T) {
	var w bytes.Buffer
	p := ui.New(&w, ui.JSON)
	task := p.Task("x", 10, true)
	task.Add(4)
	task.End(errors.New("cut"))
	p.Say("hello %d", 1)
	var last map[string]any
	for line := range strings.Lines(w.String()) {
		last = nil
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if last["event"] == "end" && (last["done"] != 4.0 || last["error"] != "cut") {
			t.Errorf("end says %v", last)
		}
	}
	if last["text"] != "hello 1" {
		t.Errorf("last line %v", last)
	}
}

func TestBarsEndWhenTasksFail(*testing.T) {
	var w bytes.Buffer
	p := ui.New(&w, ui.Bars)
	good, bad := p.Task("good", 0, true), p.Task("bad", 5, true)
	good.Add(3)
	good.End(nil)
	bad.End(errors.New("x"))
	p.Close() // would hang if a bar stayed open
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "4096": 4096, "999 B": 999, "20GB": 20e9, "20 GB": 20e9, "1.5TB": 1.5e12, "2k": 2000, "2KB": 2000,
		"4095MiB": 4095 << 20, "4Gi": 4 << 30, "0.5GiB": 1 << 29, "1TiB": 1 << 40,
	} {
		if got, err := ui.ParseSize(text); got != want || err != nil {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "GB", "-1GB", "20 PB", "20GBs", "20  GB", "5iB", ".5GB", "1e9", "10000000000GB", "NaN"} {
		if n, err := ui.ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", text, n)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1200: "1.2 kB", 3_400_000: "3.4 MB", 5_600_000_000: "5.6 GB", 7_000_000_000_000_000: "7000.0 TB"} {
		if got := ui.Size(n); got != want {
			t.Errorf("Size(%d) = %q, want %q", n, got, want)
		}
	}
}

// TestTaskSaysProgress: a long task is not silent in JSON, and a fast one does not print an event for each part.
func TestTaskSaysProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		task := ui.New(&out, ui.JSON).Task("Copy the bundle", 100, true)
		for range 5 {
			for range 10 {
				time.Sleep(3 * time.Second)
				task.Add(1)
			}
		}
		task.End(nil)
		var events []string
		for line := range bytes.Lines(out.Bytes()) {
			var e ui.Event
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatal(err)
			}
			events = append(events, fmt.Sprint(e.Event, " ", e.Done, " of ", e.Total))
		}
		if want := []string{"begin 0 of 100", "progress 20 of 100", "progress 40 of 100", "end 50 of 100"}; !slices.Equal(events, want) {
			t.Errorf("got %q, want %q", events, want)
		}
	})
}
