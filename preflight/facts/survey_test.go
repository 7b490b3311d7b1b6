package facts

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/nextboot"
)

// TestSurveyScript runs the script on this machine. It must find the same facts as the program.
func TestSurveyScript(t *testing.T) {
	script, err := SurveyScript()
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(script, []byte("\n")); lines > 250 {
		t.Errorf("the script has %d lines, at most 250 can be reviewed", lines)
	}
	// A machine that runs tests often has no user who has logged in, so that the facts do not show it.
	if !bytes.Contains(script, []byte("whole "+loginUID+";")) {
		t.Error("the script does not write who has logged in")
	}
	path := filepath.Join(t.TempDir(), "survey.sh")
	if err := os.WriteFile(path, script, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, shell := range []string{"dash", "bash --posix"} {
		t.Run(shell, func(t *testing.T) {
			argv := append(strings.Fields(shell), path)
			var stderr bytes.Buffer
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil || stderr.Len() > 0 {
				t.Fatalf("%v\n%s", err, &stderr)
			}
			got, err := ReadSurvey(t.Context(), bytes.NewReader(out))
			if err != nil {
				t.Fatal(err)
			}
			want, err := Survey(t.Context(), host.Local{})
			if err != nil {
				t.Fatal(err)
			}
			sameFacts(t, steady(got), steady(want))
			if _, err := ReadSurvey(t.Context(), bytes.NewReader(out[:len(out)-10])); err == nil {
				t.Error("a truncated survey was accepted")
			}
		})
	}
}

// steady clears facts that change between two runs.
func steady(f *Facts) *Facts {
	f.Time = Time{Synchronized: f.Time.Synchronized, Servers: f.Time.Servers}
	f.Listening = nil
	for i := range f.Filesystems {
		f.Filesystems[i].Used, f.Filesystems[i].Free, f.Filesystems[i].InodesFree = 0, 0, 0
	}
	return f
}

// sameFacts names the fields that differ.
func sameFacts(t *testing.T, got, want *Facts) {
	t.Helper()
	a, b := reflect.ValueOf(*got), reflect.ValueOf(*want)
	for i := range a.NumField() {
		if !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			t.Errorf("%s: the script has %+v, the program %+v", a.Type().Field(i).Name, a.Field(i), b.Field(i))
		}
	}
}

// TestSurveyFilters: the script and a recording keep the same lines of files that can contain
// passwords.
func TestSurveyFilters(t *testing.T) {
	script, err := SurveyScript()
	if err != nil {
		t.Fatal(err)
	}
	functions := filters(string(script))
	tests := []struct{ filter, file, text, want string }{
		{"proxies", "etc/environment", "https_proxy=http://svc:sec@ret2024@p:3128\n", "https_proxy=http://***@p:3128"},
		{"proxies", "etc/environment", "export HTTP_PROXY='svc:sec@ret@p:3128'\nno_proxy=\"a,b\"\n", "export HTTP_PROXY='***@p:3128"},
		{"proxies", "etc/environment", "LANG=C\nhttps_proxy=http://svc:secret@p:3128\n", "https_proxy=http://***@p:3128"},
		{"proxies", "etc/profile.d/p.sh", "TOKEN=secret\nexport NO_PROXY=\"a,b\"\n", "NO_PROXY"},
		{"unit_settings", "etc/systemd/system/containerd.service.d/proxy.conf", "[Service]\nEnvironment=HTTPS_PROXY=http://svc:secret@p:3128\nUMask=0022\n", "UMask=0022"},
		{"unit_settings", "etc/systemd/system/kubelet.service.d/20-proxy.conf",
			"[Service]\nEnvironment=\"TOKEN=secret\" 'HTTPS_PROXY=http://svc:secret@p:3128' \\\n  A=\"secret and secret\"\nExecStart=/usr/bin/kubelet --token=secret\n",
			"\nEnvironment= TOKEN= HTTPS_PROXY=http://***@p:3128 A=\n\nExecStart="},
		{"kubelet_variables", "etc/sysconfig/kubelet", "TOKEN=secret\nKUBELET_EXTRA_ARGS=--v=2\nhttp_proxy=svc:secret@p\n", "\nKUBELET_EXTRA_ARGS=--v=2\nhttp_proxy=***@p"},
		{"only '^(method|\\[)'", ConnectionsDir + "/wifi.nmconnection", "[wifi-security]\npsk=secret\n[ipv4]\nmethod=auto\n", "\n\n[ipv4]\nmethod=auto"},
		{"only '(aide|updatedb)'", "etc/crontab", "0 1 * * * root backup --password secret\n0 5 * * * root aide --check\n", "aide --check"},
		{"only '" + nextboot.ScriptLines + "'", "etc/rc.d/rc.local", "#!/bin/sh\nbackup --password secret\nsysctl -w net.ipv4.ip_forward=0\n", "\n\nsysctl -w"},
		{"unit_settings", "etc/systemd/system.conf", "[Manager]\nDefaultEnvironment=TOKEN=secret HTTPS_PROXY=http://u:secret@p:3128\nCPUAffinity=0-3\n", "CPUAffinity=0-3"},
		{"excludes", "etc/dnf/dnf.conf", "[main]\npassword=secret\nexcludepkgs=kernel*\n  runc\nproxy_password=secret\n", "kernel*"},
		{"excludes", "etc/yum.repos.d/a.repo", "[a]\nexclude = x, y\nbaseurl=https://u:secret@h/\n", "x"},
		{"secrets", fstabFile, "//nas/x /mnt cifs ro,username=a,password=secret,uid=0 0 0\n//nas/y /m cifs pass=secret 0 0\n", "/m cifs pass=***"},
		{"secrets", "etc/systemd/system/mnt.mount", "[Mount]\nWhere=/mnt\nOptions=PASSWORD2=secret,ro\n", "Options=PASSWORD2=***,ro"},
		{"user=ops; ages", shadowFile, "guest:$6$secret:1::::::\nroot:!secret:1:0:90:7::9:\nops:$6$secret:2:0:60:7:::\n", "\nops:x:2:"},
		{"certificates", kubeletClient, "-----BEGIN EC PRIVATE KEY-----\nc2VjcmV0\n-----END EC PRIVATE KEY-----\n", ""},
	}
	for _, test := range tests {
		cmd := exec.Command("sh", "-c", functions+test.filter)
		cmd.Stdin = strings.NewReader(test.text)
		filtered, err := cmd.Output()
		if err != nil && len(filtered) > 0 {
			t.Fatal(err)
		}
		recorded := kept(test.file, test.text)
		for by, left := range map[string]string{"script": string(filtered), "recording": recorded} {
			left = strings.ReplaceAll(left, "= ", "=") // only white space may differ
			if strings.Contains(left, "secret") || strings.Contains(left, "c2VjcmV0") || !strings.Contains(left, strings.ReplaceAll(test.want, "= ", "=")) {
				t.Errorf("%s of %s leaves %q", by, test.file, left)
			}
		}
		if test.filter == "excludes" {
			a, b := excludes(strings.Split(string(filtered), "\n")), excludes(strings.Split(recorded, "\n"))
			if !reflect.DeepEqual(a, b) || len(a) != 2 {
				t.Errorf("%s: the script leaves %q, a recording %q", test.file, a, b)
			}
		}
	}
}

// TestSurveyLineEnds: a gate or an editor on Windows may convert the script and its output.
func TestSurveyLineEnds(t *testing.T) {
	script, err := SurveyScript()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "survey.sh")
	require.NoError(t, os.WriteFile(path, bytes.ReplaceAll(script, []byte("\n"), []byte("\r\n")), 0o600))
	for _, shell := range []string{"dash", "bash --posix", "bash"} {
		var stderr bytes.Buffer
		argv := append(strings.Fields(shell), path)
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		require.Error(t, err, shell)
		assert.Empty(t, string(out), shell)
		assert.Equal(t, "survey.sh: its line ends are CRLF: run  sed 's/.$//' survey.sh >/tmp/survey.sh  and then that copy\n", stderr.String(), shell)
	}

	text := "-- fs/etc/hosts --\n127.0.0.1 localhost\n" + surveyedEnd()
	for name, changed := range map[string]string{
		"its line ends are CRLF": strings.ReplaceAll(text, "\n", "\r\n"),
		"the text is UTF-16":     "\xff\xfe" + text,
	} {
		_, err := ReadSurvey(t.Context(), strings.NewReader(changed))
		require.ErrorContains(t, err, name)
		assert.Contains(t, advice.Of(err), "binary mode")
	}
	_, err = ReadSurvey(t.Context(), strings.NewReader(strings.Replace(text, "localhost\n", "localhost\r\n", 1)))
	require.NoError(t, err, "of a server whose own file has such lines")
}

// filters are the functions of the script up to the first data.
func filters(script string) string {
	_, rest, _ := strings.Cut(script, "# Filters that remove secrets")
	functions, _, _ := strings.Cut(rest, "\nwhole ")
	return "#" + functions + "\n"
}

// surveyedEnd ends a recording as the script does.
func surveyedEnd() string {
	return "-- facts/" + strings.Join(Names(), " ") + " --\n-- end/ --\n"
}

// TestOlderSurvey: the facts that an older airgap did not ask for are not known to be absent, in
// YAML and in the output of the script.
func TestOlderSurvey(t *testing.T) {
	yaml, err := ReadFacts(strings.NewReader("schema: 1\nhost: a\n"))
	require.NoError(t, err)
	older, err := ReadSurvey(t.Context(), strings.NewReader("-- end/ --\n"))
	require.NoError(t, err)
	newer, err := ReadSurvey(t.Context(), strings.NewReader("-- facts/os bootMounts invented --\n-- end/ --\n"))
	require.NoError(t, err)
	for _, f := range []*Facts{yaml, older} {
		assert.Equal(t, []string{"bootMounts", "audit"}, f.NotSurveyed("os", "bootMounts", "audit", "umask"))
	}
	assert.Equal(t, []string{"os", "bootMounts"}, newer.Surveyed)
	gathered, err := Gather(t.Context(), loadHost(t, "rocky9"))
	require.NoError(t, err)
	assert.Empty(t, gathered.NotSurveyed(Names()...))
	for _, name := range firstSurveyed() {
		assert.Contains(t, Names(), name)
	}
}
