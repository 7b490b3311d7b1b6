package runtime

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/internal/step"
)

// releaseSource serves archives in upstream's layout, with these programs.
func releaseSource(t *testing.T, version string, programs ...string) Source {
	t.Helper()
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	w := tar.NewWriter(zipped)
	if err := w.WriteHeader(&tar.Header{Name: "bin/", Typeflag: tar.TypeDir, Mode: 0o755}); err != nil {
		t.Fatal(err)
	}
	for _, name := range programs {
		text := name + " " + version
		if err := w.WriteHeader(&tar.Header{Name: "bin/" + name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, text)
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return func(_ context.Context, name string) (io.ReadCloser, error) {
		switch {
		case strings.HasPrefix(name, "containerd-"):
			return io.NopCloser(bytes.NewReader(archive.Bytes())), nil
		case strings.HasPrefix(name, "runc-"):
			return io.NopCloser(strings.NewReader("runc")), nil
		}
		return nil, fs.ErrNotExist
	}
}

func runtimeStep(t *testing.T, m host.Machine, version string) step.Step {
	r := Config{Version: version}
	r.Default("1.36.3")
	return FilesStep(m, r, "amd64", releaseSource(t, version, "containerd", "containerd-shim-runc-v2", "ctr"))
}

func TestRuntimeFiles(t *testing.T) {
	f, m := hosttest.New(t)
	s := runtimeStep(t, m, "2.3.7")
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	if got := f.Get(host.BinDir + "/containerd"); got != "containerd 2.3.7" {
		t.Errorf("containerd holds %q", got)
	}

	f.Put(t, host.BinDir+"/runc", "rubc") // a flipped bit
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)

	newer := runtimeStep(t, m, "2.3.8")
	hosttest.MustBeDone(t, newer.Done, false)
	if err := newer.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, false)

	if err := s.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"containerd", "ctr", "runc"} {
		if f.Has(host.BinDir + "/" + name) {
			t.Errorf("%s remains", name)
		}
	}
}

func TestRuntimeFilesRelabels(t *testing.T) {
	f, m := hosttest.New(t)
	f.Put(t, "sys/fs/selinux/enforce", "1")
	if err := runtimeStep(t, m, "2.3.7").Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f.Ran("restorecon -R /opt/airgap") != 1 {
		t.Errorf("ran %v", f.Calls)
	}
}

// TestRuntimeFilesLabels checks that labels are set after the files are in their final path, and that
// the next run repairs them after an interruption.
func TestRuntimeFilesLabels(t *testing.T) {
	f, m := hosttest.New(t)
	f.Put(t, "sys/fs/selinux/enforce", "1")
	there := false
	f.Answers["restorecon -R"] = func(host.Cmd) ([]byte, error) {
		_, err := os.Stat(m.Path(host.BinDir + "/containerd"))
		there = err == nil
		return nil, errors.New("killed")
	}
	if err := runtimeStep(t, m, "2.3.7").Run(t.Context()); err == nil || !there {
		t.Errorf("got %v; the programs exist: %t", err, there)
	}
	f.Answers["restorecon -R -n -v"] = func(host.Cmd) ([]byte, error) {
		return []byte("Would relabel /opt/airgap/bin/containerd from bin_t to container_runtime_exec_t\n"), nil
	}
	hosttest.MustBeDone(t, LabelsStep(m).Done, false)
}

func TestRuntimeFilesBadArchive(t *testing.T) {
	var r Config
	r.Default("1.36.3")
	whole := releaseSource(t, "2.3.7", "containerd", "containerd-shim-runc-v2")
	for name, source := range map[string]Source{
		"no shim":   releaseSource(t, "2.3.7", "containerd"),
		"not there": func(context.Context, string) (io.ReadCloser, error) { return nil, fs.ErrNotExist },
		"not an archive": func(context.Context, string) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader("<html>")), nil
		},
		"cut": func(ctx context.Context, name string) (io.ReadCloser, error) {
			all, err := whole(ctx, name)
			return io.NopCloser(io.LimitReader(all, 80)), err
		},
		"not the signed one": func(ctx context.Context, name string) (io.ReadCloser, error) {
			all, err := whole(ctx, name)
			return io.NopCloser(io.MultiReader(all, iotest.ErrReader(errors.New("SHA-256 is not the signed one")))), err
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, m := hosttest.New(t)
			f.Put(t, host.BinDir+"/containerd", "the one before")
			s := FilesStep(m, r, "amd64", source)
			if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "install containerd") {
				t.Errorf("got %v", err)
			}
			hosttest.MustBeDone(t, s.Done, false)
			if got := f.Get(host.BinDir + "/containerd"); got != "the one before" {
				t.Errorf("containerd was replaced by %q", got)
			}
			if f.Has(stagingDir) {
				t.Error("the staging directory remains")
			}
		})
	}
}

func TestForeignRuntimeIsRefused(t *testing.T) {
	for name, file := range map[string]string{
		"packaged":   "/usr/lib/systemd/system/containerd.service",
		"configured": containerdConfig,
		"own unit":   containerd().unit,
	} {
		t.Run(name, func(t *testing.T) {
			f, m := hosttest.New(t)
			f.Put(t, file, "[something else]\n")
			err := runtimeStep(t, m, "2.3.7").Run(t.Context())
			var failure *host.Failure
			if !errors.As(err, &failure) || !strings.Contains(err.Error(), file) || failure.Hint() == "" {
				t.Errorf("got %v", err)
			}
			if f.Has(host.BinDir) || f.Get(file) != "[something else]\n" {
				t.Error("the host was changed")
			}
		})
	}
}

func TestPlanOfRuntime(t *testing.T) {
	f, m := hosttest.New(t)
	withContainerd(t, f, m)
	files := runtimeStep(t, m, "2.3.7")
	hosttest.WantPlan(t, f, files, "unpack containerd-2.3.7-linux-amd64.tar.gz into "+host.BinDir, "unpack "+runcName("1.5.2", "amd64")+" into "+host.BinDir)
	if err := files.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.Put(t, host.BinDir+"/runc", "of the site")
	if err := os.Remove(m.Path(host.BinDir + "/ctr")); err != nil {
		t.Fatal(err)
	}
	hosttest.WantPlan(t, f, files, "restore "+host.BinDir+"/ctr (missing)", "restore "+host.BinDir+"/runc (changed)")

	f.Fails("systemctl is-enabled --quiet containerd", 1, "")
	f.Fails("systemctl is-active --quiet containerd", 3, "")
	hosttest.WantPlan(t, f, ServiceStep(m, options(t, "", Facts{Driver: Systemd})),
		"write "+containerdConfig+" (new)", "write "+containerd().unit+" (new)", "enable containerd.service", "start containerd.service")
}
