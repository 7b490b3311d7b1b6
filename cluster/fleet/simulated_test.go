package fleet

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"airgap.dev/airgap/internal/outlier"
	"airgap.dev/airgap/internal/remote/sshtest"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight"
)

// simulation is servers in another process, so that the memory of this one is airgap's. They run no programs: they answer
// the commands of an installation with as much text as real hosts.
type simulation struct {
	Ports   []int
	HostKey string // of all servers
	API     string // the URL of an API server for join tokens
}

const (
	simulatedHosts   = "AIRGAP_SIMULATED_HOSTS"   // the number of servers
	simulatedKey     = "AIRGAP_SIMULATED_KEY"     // the public key that they accept
	simulatedHeader  = "0123456789abcdef01234567" // of airgap.rpm
	simulatedSteps   = 37                         // of airgap join
	simulatedChecks  = 75
	simulatedChanges = 30
	stepTime         = 25 * time.Millisecond
	preflightTime    = 500 * time.Millisecond
)

// simulate starts servers that accept a key. They end with the test.
func simulate(tb testing.TB, hosts int, key ssh.PublicKey) *simulation {
	tb.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), os.Args[0], "-test.run=^TestSimulatedServers$", "-test.timeout=10m")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", simulatedHosts, hosts), simulatedKey+"="+string(ssh.MarshalAuthorizedKey(key)))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { stdin.Close(); _ = cmd.Wait() }) // they end with their input, and remove their files
	s := &simulation{}
	if err := json.NewDecoder(out).Decode(s); err != nil || len(s.Ports) != hosts {
		tb.Fatalf("start %d servers: got %d ports, %v", hosts, len(s.Ports), err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return s
}

// TestSimulatedServers is the other process of simulate, and no test.
func TestSimulatedServers(t *testing.T) {
	var hosts int
	if _, err := fmt.Sscan(os.Getenv(simulatedHosts), &hosts); err != nil {
		t.Skip("it runs in the benchmark only")
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey([]byte(os.Getenv(simulatedKey)))
	if err != nil {
		t.Fatal(err)
	}
	key := sshtest.NewKey(t)
	api := httptest.NewServer(&codeAPI{})
	t.Cleanup(api.Close)
	s := simulation{HostKey: ssh.FingerprintSHA256(key.PublicKey()), API: api.URL}
	for i := range hosts {
		server := sshtest.Serve(t, sshtest.Takes(public), key)
		server.MaxSessions = 10 // as OpenSSH
		host, err := newSimulated(simulatedName(i))
		if err != nil {
			t.Fatal(err)
		}
		server.Answer = host.answer
		s.Ports = append(s.Ports, server.Port())
	}
	if err := json.NewEncoder(os.Stdout).Encode(s); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// simulatedName is the name of a server: the first host is node001.
func simulatedName(i int) string { return fmt.Sprintf("node%03d", i+2) }

// simulated is a server with its results.
type simulated struct {
	name           string
	report, joined []byte
}

func newSimulated(name string) (*simulated, error) {
	h := &simulated{name: name}
	r := preflight.Report{Host: name, System: "Rocky Linux 9.6", Kernel: "5.14.0-570.12.1.el9_6.x86_64", Worst: preflight.Warn}
	for _, trait := range []string{"kernel", "time zone", "MTU", "resolv.conf", "glibc", "systemd", "firmware", "SELinux"} {
		r.Traits = append(r.Traits, outlier.Trait{Name: trait, Value: "the same on all hosts"})
	}
	for n := range simulatedChecks {
		e := preflight.Entry{ID: fmt.Sprintf("check-%02d", n), Title: "The title of a check that says what it wants", Source: "https://kubernetes.io/docs/setup/"}
		e.Result = preflight.Result{Status: preflight.Pass, Found: "a text about the state of the host, with two or three numbers in it"}
		if n < 3 {
			e.Result = preflight.Result{Status: preflight.Warn, Found: "another state of the host", Want: "the state that is better", Fix: "a command that changes it"}
		}
		if n == simulatedChecks-1 && (name == "node017" || name == "node044") {
			e.Result = preflight.Result{Status: preflight.Fail, Found: "/dev/dm-1", Want: "no active swap", Fix: "swapoff -a"}
			r.Worst = preflight.Fail
		}
		r.Results = append(r.Results, e)
	}
	var err error
	if h.report, err = json.MarshalIndent(r, "", "  "); err != nil {
		return nil, err
	}
	h.joined, err = json.MarshalIndent(Joined{Node: name, Changed: simulatedChanges, Unchanged: simulatedSteps - simulatedChanges}, "", "  ")
	return h, err
}

// answer is for sshtest. The first line of stdin is the command, which internal/remote quotes.
func (h *simulated) answer(stdin io.Reader, stdout, stderr io.Writer) int {
	in := bufio.NewReader(stdin)
	line, err := in.ReadString('\n')
	if err != nil {
		return 1
	}
	_, _ = io.Copy(io.Discard, in)
	_, _ = io.WriteString(stdout, "airgap-output:\n")
	_, _ = io.WriteString(stderr, "airgap-process:1\n")
	line = strings.NewReplacer(`'`, "", `\`, "", `"`, "", "$n", "\n").Replace(line)
	is := func(command string) bool {
		return strings.Contains(line, command+" ") || strings.HasSuffix(line, command+"\n")
	}
	switch {
	case is("id -u"):
		_, err = io.WriteString(stdout, "0\n")
	case is("rpm -U"):
	case is("rpm -q"):
		return 1 // the package is not installed
	case is("airgap membership"):
		_, err = io.WriteString(stdout, `{"joined":false}`+"\n")
	case is("airgap preflight"):
		time.Sleep(preflightTime)
		_, err = stdout.Write(h.report)
	case is("airgap join"):
		err = h.join(stdout, stderr)
	default:
		fmt.Fprintln(stderr, "unknown command:", line)
		return 127
	}
	if err != nil {
		return 1
	}
	return 0
}

// join writes the progress of airgap join --progress json, and its result.
func (h *simulated) join(stdout, stderr io.Writer) error {
	for n := range simulatedSteps {
		var text bytes.Buffer
		for _, e := range []ui.Event{
			{Event: "step", Text: fmt.Sprintf("The title of step %d of the node", n+1), Done: int64(n), Total: simulatedSteps},
			{Event: "say", Text: fmt.Sprintf("step %d changed a file below /etc/kubernetes and a unit of systemd", n+1)},
		} {
			e.Time = time.Now()
			if err := json.NewEncoder(&text).Encode(e); err != nil {
				return err
			}
		}
		if _, err := stderr.Write(text.Bytes()); err != nil {
			return err
		}
		time.Sleep(stepTime)
	}
	_, err := stdout.Write(h.joined)
	return err
}
