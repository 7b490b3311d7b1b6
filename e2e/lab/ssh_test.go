package lab

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// The shell must pass the arguments unchanged.
func TestRemoteLine(t *testing.T) {
	args := []string{"printf", `%s|`, "", "two words", `it's "quoted"`, "$HOME `id` \\", "line\nbreak", "*"}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command("sh", "-c", remoteLine(Cmd{Args: args, Env: []string{"A=b c"}, Dir: "/"}))
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err, stderr.String())
	}
	if want := strings.Join(args[2:], "|") + "|"; stdout.String() != want {
		t.Errorf("got %q, want %q", stdout.String(), want)
	}
	if !strings.HasSuffix(stderr.String(), "\n") || strings.Trim(stderr.String(), "0123456789\n") != "" {
		t.Errorf("got %q on stderr, want the number of the process group", stderr.String())
	}
}

// Lines before the number must not be lost: they may contain the reason why it is missing.
func TestLinesBeforeTheFirst(t *testing.T) {
	for _, writes := range [][]string{
		{"welcome\n", "4711\nrest\n"},
		{"wel", "come\n4711\nre", "st\n"},
		{"welcome\n4711\nrest\n"},
	} {
		var rest bytes.Buffer
		f := &firstLine{rest: &rest, whole: make(chan struct{})}
		for _, w := range writes {
			if n, err := f.Write([]byte(w)); n != len(w) || err != nil {
				t.Errorf("write %q: %d, %v", w, n, err)
			}
		}
		if string(f.line) != "4711" || rest.String() != "welcome\nrest\n" {
			t.Errorf("%q: got line %q, rest %q", writes, f.line, rest.String())
		}
	}
}

func TestFirstLine(t *testing.T) {
	for _, writes := range [][]string{
		{"4711\nrest\nmore\n"},
		{"47", "11", "\nre", "st\nmore\n"},
		{"4711\n", "rest\nmore\n"},
	} {
		var rest bytes.Buffer
		f := &firstLine{rest: &rest, whole: make(chan struct{})}
		for _, w := range writes {
			if n, err := f.Write([]byte(w)); n != len(w) || err != nil {
				t.Errorf("write %q: %d, %v", w, n, err)
			}
		}
		<-f.whole
		if string(f.line) != "4711" || rest.String() != "rest\nmore\n" {
			t.Errorf("%q: got line %q, rest %q", writes, f.line, rest.String())
		}
	}
}
