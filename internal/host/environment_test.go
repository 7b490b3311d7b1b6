package host_test

import (
	"io"
	"os"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
)

// TestCommandsGetNoSecretsOfOurs runs a command from an environment with
// credentials in it: only the names that were agreed on arrive.
func TestCommandsGetNoSecretsOfOurs(t *testing.T) {
	for name, value := range map[string]string{
		"HTTPS_PROXY": "http://me:hunter2@proxy:3128", "https_proxy": "http://me:hunter2@proxy:3128",
		"BANK_PASSWORD": "hunter2", "KUBECONFIG": "/root/hunter2", "TZ": "UTC",
	} {
		t.Setenv(name, value)
	}
	out, err := host.Local{}.Run(t.Context(), host.Cmd{Name: "env", Env: []string{"ADDED=1"}})
	if err != nil {
		t.Fatal(err)
	}
	got := "\n" + string(out)
	for _, want := range []string{"\nADDED=1\n", "\nTZ=UTC\n", "\nPATH=" + os.Getenv("PATH") + "\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in the command's environment:%s", want, got)
		}
	}
	if strings.Contains(got, "hunter2") || strings.Contains(strings.ToUpper(got), "PROXY") {
		t.Errorf("the command's environment is%s", got)
	}
}

// TestCommandsSpeakOneLanguage: airgap reads what commands print, so the operator's language must not
// reach them. Programs in Python, such as dnf and semanage, read LANGUAGE also with LC_ALL=C.
func TestCommandsSpeakOneLanguage(t *testing.T) {
	for name, value := range map[string]string{"LANG": "ko_KR.UTF-8", "LC_ALL": "ko_KR.UTF-8", "LC_MESSAGES": "ko_KR.UTF-8", "LANGUAGE": "ko_KR:ko:en"} {
		t.Setenv(name, value)
	}
	for want, added := range map[string][]string{"\nLC_ALL=C.UTF-8\n": nil, "\nLC_ALL=C\n": {"LC_ALL=C"}} {
		out, err := host.Local{}.Run(t.Context(), host.Cmd{Name: "env", Env: added})
		if got := "\n" + string(out); err != nil || strings.Contains(got, "ko") || !strings.Contains(got, want) {
			t.Errorf("the command's environment is%s%v", got, err)
		}
	}
}

// TestInMemory reads a file without a name as kubeadm does, twice, and through
// a command in between as flock is.
func TestInMemory(t *testing.T) {
	f, err := host.InMemory([]byte("secret\n"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out, err := host.Local{}.Run(t.Context(), host.Cmd{Name: "sh", Args: []string{"-c", "sh -c 'cat /dev/stdin /dev/stdin'"}, Stdin: f})
	if err != nil || string(out) != "secret\nsecret\n" {
		t.Errorf("read %q, %v", out, err)
	}
	if own, err := io.ReadAll(f); err != nil || string(own) != "secret\n" {
		t.Errorf("read %q, %v", own, err)
	}
	if _, err := os.Stat(f.Name()); err == nil {
		t.Errorf("%s is a file in the directory", f.Name())
	}
}
