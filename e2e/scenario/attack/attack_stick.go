package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

// forged is the directory on the first server with the attacker's copy of the bundle and
// the other files of the attacks.
const forged = "/srv/attack"

// attackStick plays items 1 and 2: files of the bundle that change, that are links, or that
// differ at the second read.
func attackStick(ctx context.Context, e *scenario.Env, t target) []scenario.Part {
	bank := forged + "/" + e.ClusterName()
	return []scenario.Part{
		{Title: "a copy of the stick for the attacker", Run: func() error {
			return e.Script(ctx, t.first, "install -d -m 0755 "+forged, "cp -r "+e.BundleOnStick()+" "+forged+"/", "chmod -R u+w,go+rX "+forged)
		}},
		{Title: "the stick's public key is a link to the cluster's", Run: func() error { return attackPublicKey(ctx, e, t.first, bank) }},
		{Title: "a program changes after it was copied", Run: func() error { return attackProgram(ctx, e, t, bank) }},
		{Title: "airgap.rpm becomes a link to the registry's key", Run: func() error { return attackInPlace(ctx, e, t.first, bank) }},
		{Title: "the attacker's copy is removed", Run: func() error {
			return e.Script(ctx, t.first, "rm -r "+forged, "airgap registry status")
		}},
	}
}

// attackPublicKey installs again from a directory in which airgap.pub is not a regular
// file. Joining hosts and all other clients must still receive the right key.
func attackPublicKey(ctx context.Context, e *scenario.Env, m lab.Machine, bank string) error {
	public := bank + "/airgap.pub"
	for _, c := range []struct{ put, says string }{
		{"ln -s /etc/kubernetes/pki/ca.key " + public, "airgap.pub: it is a symbolic link"},
		{"mkfifo " + public, "airgap.pub: it is a FIFO"},
	} {
		if err := e.Script(ctx, m, "rm "+public, c.put); err != nil {
			return err
		}
		r, err := e.On(ctx, m, "", "timeout", "120", "airgap", "install", scenario.LabSkips, bank)
		if err != nil {
			return err
		}
		if err := r.Want("install from a directory with "+c.put, 1, c.says); err != nil {
			return err
		}
	}
	return e.Script(ctx, m,
		"rm "+public+" && cp "+e.BundleOnStick()+"/airgap.pub "+public,
		"! grep -rl 'PRIVATE KEY' /var/lib/airgap/join",
		fmt.Sprintf("curl -sf --cacert /etc/airgap/pki/ca.crt https://%s:5000/join/airgap.pub | cmp - %s", m.Addr(), public))
}

// attackProgram removes a program that airgap installed, and changes one byte of its archive
// on the stick after the bundle was copied. The bundle in the store is complete, so
// install does not copy it again.
func attackProgram(ctx context.Context, e *scenario.Env, t target, bank string) error {
	at, err := middleOf(filepath.Join(t.stick, e.ClusterName()), "files/containerd-")
	if err != nil {
		return err
	}
	const ctr = "/opt/airgap/bin/ctr" // no running process needs it
	if err := e.Script(ctx, t.first, "rm "+ctr, at.write(bank, at.is^0x10)); err != nil {
		return err
	}
	r, err := e.On(ctx, t.first, "", "airgap", "install", scenario.LabSkips, bank)
	if err != nil {
		return err
	}
	if err := r.Want("install from a directory that changed", 1, "runtime-files", at.part, "SHA-256 does not match the signed value"); err != nil {
		return err
	}
	if err := e.Script(ctx, t.first, "! test -e "+ctr, "! test -e /opt/airgap/bin/.new", at.write(bank, at.is)); err != nil {
		return err
	}
	if _, err := e.AirgapOn(ctx, t.first, "", "install", scenario.LabSkips, e.BundleOnStick()); err != nil {
		return err
	}
	return e.Script(ctx, t.first, "test -x "+ctr)
}

// place is one byte of a bundle's part, with its value.
type place struct {
	part string
	at   int64
	is   byte
}

// write returns a shell line that writes b at this place, in the copy of the bundle in dir.
func (p place) write(dir string, b byte) string {
	return fmt.Sprintf(`printf '\%03o' | dd of=%s/%s bs=1 seek=%d conv=notrunc status=none`, b, dir, p.part, p.at)
}

// middleOf finds the middle byte of a bundle's first file with this prefix of its path.
func middleOf(dir, prefix string) (p place, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "bundle.json"))
	if err != nil {
		return p, err
	}
	var index struct {
		Parts []struct {
			Name string
			Size int64
		}
		Files []struct {
			Path         string
			Offset, Size int64
		}
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return p, err
	}
	for _, f := range index.Files {
		if !strings.HasPrefix(f.Path, prefix) {
			continue
		}
		p.at = f.Offset + f.Size/2
		for _, part := range index.Parts {
			if p.at < part.Size {
				p.part = part.Name
				p.is, err = readByte(filepath.Join(dir, p.part), p.at)
				return p, err
			}
			p.at -= part.Size
		}
	}
	return p, fmt.Errorf("the bundle in %s has no %s", dir, prefix)
}

func readByte(path string, at int64) (byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var b [1]byte
	_, err = f.ReadAt(b[:], at)
	return b[0], err
}

// attackInPlace serves the directory in place, from a second registry that runs as the user of
// the cluster's registry. Then it replaces airgap.rpm by a link to that user's private key.
func attackInPlace(ctx context.Context, e *scenario.Env, m lab.Machine, bank string) error {
	const key = "/etc/airgap/pki/registry.key"
	rpm, store, log := bank+"/airgap.rpm", forged+"/store", forged+"/log"
	get := fmt.Sprintf("curl -s -o %s/got -w '%%{http_code}' --cacert /etc/airgap/pki/ca.crt https://%s:5999/", forged, m.Addr())
	serve := "cd / && nohup runuser -u airgap -- airgap registry serve --store " + store + " --port 5999 --pushed '' >" + log + " 2>&1 & echo $! >" + forged + "/pid"
	err := e.Script(ctx, m,
		"airgap registry import --in-place --store "+store+" "+bank,
		serve,
		scenario.Retry("test $("+get+"airgap.rpm) = 200"),
		"cmp "+forged+"/got "+rpm,
		"rm "+rpm+" && ln -s "+key+" "+rpm,
		"test $("+get+"airgap.rpm) = 500 && grep -q 'airgap.rpm: it is a symbolic link' "+forged+"/got && ! grep -q 'PRIVATE KEY' "+forged+"/got",
		"test $("+get+"bundles/"+e.ClusterName()+"/airgap.rpm) = 500 && ! grep -q 'PRIVATE KEY' "+forged+"/got",
		"test $("+get+"healthz) = 200 && grep -q '\"part\":\"airgap.rpm\"' "+forged+"/got",
		"grep -q 'airgap.rpm: it is a symbolic link' "+log)
	if err != nil {
		return err
	}
	r, err := e.On(ctx, m, "", "airgap", "registry", "import", "--in-place", "--store", forged+"/other", bank)
	if err != nil {
		return err
	}
	if err := r.Want("import of a bundle with a link", 1, "airgap.rpm: it is a symbolic link"); err != nil {
		return err
	}
	return e.Script(ctx, m, "pkill -P $(cat "+forged+"/pid); kill $(cat "+forged+"/pid) 2>/dev/null || :", "! test -e "+forged+"/other")
}
