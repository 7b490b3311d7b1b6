package members

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/scenario/kills"
	"airgap.dev/airgap/e2e/secrets"
)

// savedDir is the directory for the copy of a backup on a new server.
const savedDir = "/root/saved"

// saved has the copies that an operator keeps of a lost cluster.
type saved struct {
	name     string // directory of the plain backup
	sealed   string // directory of the encrypted backup
	archive  []byte // tar archive of both
	key      string // fingerprint of the key that signed them
	identity string // decrypts the encrypted backup
	token    string // of a service account, created before the backup
}

func (s saved) plain() string { return savedDir + "/" + s.name + " --backup-key " + s.key }

func (s saved) encrypted() string {
	return savedDir + "/" + s.sealed + " --backup-key " + s.key + " --identity " + savedDir + "/identity"
}

// RestoreAll deletes a cluster with its hosts, and restores it on fresh ones from the copy
// of a backup.
func RestoreAll(ctx context.Context, e *scenario.Env) error {
	e.Rules = append(e.Rules, secrets.Rule{Path: savedDir + "/**", Kinds: []secrets.Kind{secrets.Key, secrets.Code, secrets.EncryptionKey}, Mode: 0o600, Why: "a copy of a backup"})
	stick := filepath.Join(e.Work, "stick")
	var s saved
	if err := e.WithServers(ctx, 2, func(l *lab.Lab) error { return lose(ctx, e, l, stick, &s) }); err != nil {
		return err
	}
	return e.WithServers(ctx, 2, func(l *lab.Lab) error { return restoreOnFresh(ctx, e, l, stick, s) })
}

// lose installs a cluster, and keeps only the copy of its backups.
func lose(ctx context.Context, e *scenario.Env, l *lab.Lab, stick string, s *saved) error {
	first, worker := l.Machines[0], l.Machines[1]
	return e.InOrder([]scenario.Part{
		{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
		{Title: "bundle", Run: func() error { return e.MakeBundle(ctx, stick) }},
		{Title: "install", Run: func() error { return installedHost(ctx, e, first, stick) }},
		{Title: "join", Run: func() error { return e.Join(ctx, first, worker, stick) }},
		{Title: "objects before the backup", Run: func() error { return before(ctx, e, first, s) }},
		{Title: "backups are copied", Run: func() error { return saveBackups(ctx, e, first, s) }},
		{Title: "objects after the backup", Run: func() error {
			return e.Script(ctx, first, scenario.Kubectl+"create configmap after --from-literal=word=after", scenario.Kubectl+"scale deployment app --replicas=0")
		}},
	})
}

func installedHost(ctx context.Context, e *scenario.Env, m lab.Machine, stick string) error {
	if err := e.InstallProgram(ctx, m, stick); err != nil {
		return err
	}
	_, err := e.AirgapOn(ctx, m, "", "install", scenario.LabSkips, lab.StickPath+"/bank")
	return err
}

// before creates objects that a restore must bring back: a workload, an encrypted Secret,
// plain data, the token of a service account.
func before(ctx context.Context, e *scenario.Env, m lab.Machine, s *saved) error {
	if err := scenario.PlantObject(ctx, e, m); err != nil {
		return err
	}
	if err := e.Script(ctx, m,
		scenario.Kubectl+"create configmap before --from-literal=word=before",
		scenario.Kubectl+"create secret generic plain --from-literal=word=known",
		scenario.Kubectl+"create deployment app --image=hello:1.0 --replicas=2",
		scenario.Kubectl+"rollout status deployment app --timeout=120s",
		scenario.Kubectl+"create serviceaccount robot",
	); err != nil {
		return err
	}
	var err error // lab.Output: the functions of e keep the output of commands, which is a secret here
	s.token, err = lab.Output(ctx, m, "sh", "-c", scenario.Kubectl+"create token robot --duration=24h")
	return err
}

// saveBackups creates a plain backup and one that is encrypted to an SSH key, and copies both.
func saveBackups(ctx context.Context, e *scenario.Env, m lab.Machine, s *saved) error {
	const dir, key = "/root/taken", "/root/backup-identity"
	if err := e.Script(ctx, m, "ssh-keygen -q -t ed25519 -N '' -C backup -f "+key); err != nil {
		return err
	}
	first, err := takeBackup(ctx, e, m, "--dir", dir)
	if err != nil {
		return err
	}
	recipient, err := lab.Output(ctx, m, "cat", key+".pub")
	if err != nil {
		return err
	}
	second, err := takeBackup(ctx, e, m, "--dir", dir, "--encrypt-to", strings.TrimSpace(recipient))
	if err != nil {
		return err
	}
	s.name, s.sealed, s.key = filepath.Base(first.Dir), filepath.Base(second.Dir), first.Key
	if err := e.Script(ctx, m, "test -s "+second.Dir+"/backup.tar.age && ! test -e "+second.Dir+"/etcd.db"); err != nil {
		return err
	}
	if s.identity, err = lab.Output(ctx, m, "cat", key); err != nil {
		return err
	}
	var archive bytes.Buffer
	err = m.Exec(ctx, lab.Cmd{Args: []string{"tar", "-C", dir, "-c", s.name, s.sealed}, Stdout: &archive})
	s.archive = archive.Bytes()
	return errors.Join(err, e.Script(ctx, m, "rm -r "+dir+" "+key+" "+key+".pub"))
}

// madeBackup is the output of `airgap backup --output json`.
type madeBackup struct{ Dir, Key string }

func takeBackup(ctx context.Context, e *scenario.Env, m lab.Machine, flags ...string) (b madeBackup, err error) {
	r, err := e.Must(ctx, m, nil, append([]string{"airgap", "backup", "--output", "json"}, flags...)...)
	if err != nil {
		return b, err
	}
	return b, json.Unmarshal([]byte(r.Stdout), &b)
}

// copySaved copies the saved backups and the identity to a fresh server.
func copySaved(ctx context.Context, m lab.Machine, s saved) error {
	if err := m.Exec(ctx, lab.Cmd{Args: []string{"sh", "-c", "umask 077; mkdir " + savedDir + " && tar -C " + savedDir + " -x"}, Stdin: bytes.NewReader(s.archive)}); err != nil {
		return err
	}
	return m.Exec(ctx, lab.Cmd{Args: []string{"sh", "-c", "umask 077; cat >" + savedDir + "/identity"}, Stdin: strings.NewReader(s.identity + "\n")})
}

// restoreOnFresh restores on fresh servers with the same names.
func restoreOnFresh(ctx context.Context, e *scenario.Env, l *lab.Lab, stick string, s saved) error {
	first, worker := l.Machines[0], l.Machines[1]
	from := s.plain()
	var done restored
	return e.InOrder([]scenario.Part{
		{Title: "the backup, on a fresh server", Run: func() error { return copySaved(ctx, first, s) }},
		{Title: "the program, from the stick", Run: func() error { return e.InstallProgram(ctx, first, stick) }},
		{Title: "damaged backups are refused", Run: func() error { return damagedBackups(ctx, e, first, s) }},
		{Title: "foreign backups are refused", Run: func() error { return foreignBackups(ctx, e, first, s) }},
		{Title: "a dry run", Run: func() error { return wouldRestore(ctx, e, first, from) }},
		{Title: "restore, killed repeatedly", Run: func() error { return restoreKilled(ctx, e, first, from) }},
		{Title: "restore", Run: func() (err error) { done, err = restoredHost(ctx, e, first, from); return err }},
		{Title: "exactly the data of the backup", Run: func() error { return dataRestored(ctx, e, first, s) }},
		{Title: "a second restore", Run: func() error { return restoredAlready(ctx, e, first, from) }},
		{Title: "the worker joins again", Run: func() error { return joinAgain(ctx, e, worker, stick, done) }},
		{Title: "pods run again", Run: func() error { return podsAgain(ctx, e, first) }},
		{Title: "verify", Run: func() error { return e.Verified(ctx, first) }},
		{Title: "the first host is lost, the worker still runs", Run: func() error {
			_, err := e.Must(ctx, first, []string{"undone: "}, "airgap", "reset", "--yes", "--wipe-data")
			return err
		}},
		{Title: "reset removes all files of the restore", Run: func() error {
			return e.Script(ctx, first, "! test -e /var/lib/airgap/restored", "! test -e /var/lib/airgap/backup-key", "! ls -d /var/lib/airgap/airgap-restore-* 2>/dev/null", "! test -e /etc/airgap/pki/ca.key", "! test -e /etc/kubernetes", "! test -e /var/lib/etcd/member")
		}},
		{Title: "restore with a running worker", Run: func() error { return restoreWithWorker(ctx, e, first, s.encrypted()) }},
		{Title: "the data of the backup again", Run: func() error { return dataRestored(ctx, e, first, s) }},
		{Title: "pods run again, without a join", Run: func() error { return podsAgain(ctx, e, first) }},
		{Title: "verify again", Run: func() error { return e.Verified(ctx, first) }},
	})
}

// restored is the output of `airgap restore --output json`.
type restored struct {
	scenario.Installed
	Verified bool
	Lost     []string
}

// restoreCommand returns the command; from is a backup's directory and the flags for its signature.
func restoreCommand(from string) string {
	return "airgap restore " + from + " --bundle " + lab.StickPath + "/bank " + scenario.LabSkips
}

// foreignBackups checks that restore refuses a backup that the cluster's hosts did not create: a
// changed copy, one without its signature, one that is signed by another key.
func foreignBackups(ctx context.Context, e *scenario.Env, m lab.Machine, s saved) error {
	const bad = savedDir + "/bad"
	const forge = "echo forged >>$D/etc/kubernetes/admin.conf && { cd $D; find . -type f ! -name 'SHA256SUMS*' ! -name backup.pub -printf '%P\\n' | xargs sha256sum >SHA256SUMS; }"
	const signed = " && openssl ecparam -name prime256v1 -genkey -noout -out /root/forger && openssl pkey -in /root/forger -pubout -out $D/backup.pub && openssl dgst -sha256 -sign /root/forger -out $D/SHA256SUMS.sig $D/SHA256SUMS && rm /root/forger"
	for _, b := range []struct{ name, of, do, flags, says string }{
		{"forged", s.name, forge, "--backup-key " + s.key, "does not fit SHA256SUMS"},
		{"forged and signed", s.name, forge + signed, "--backup-key " + s.key, "it is signed with key SHA256:"},
		{"stripped", s.name, "rm $D/SHA256SUMS.sig", "--backup-key " + s.key, "it is not signed"},
		{"another key's", s.name, "true", "--backup-key SHA256:" + strings.Repeat("ab", 32), "it is signed with key " + s.key},
		{"encrypted, a byte changed", s.sealed, "printf X | dd of=$D/backup.tar.age bs=1 seek=5000 conv=notrunc status=none", "--backup-key " + s.key, "backup.tar.age does not match SHA256SUMS"},
		{"encrypted to others", s.sealed, "ssh-keygen -q -t ed25519 -N '' -f $D/other", "--backup-key " + s.key + " --identity " + bad + "/other", "encrypted to other recipients"},
	} {
		if err := e.Script(ctx, m, "rm -rf "+bad+" && cp -a "+savedDir+"/"+b.of+" "+bad, "umask 077; D="+bad+"; "+b.do); err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		r, err := e.On(ctx, m, "", strings.Fields(restoreCommand(bad+" "+b.flags))...)
		if err != nil {
			return err
		}
		if err := r.Want("restore of a backup: "+b.name, 1, b.says, "hint: "); err != nil {
			return err
		}
		if err := notStarted(ctx, e, m); err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
	}
	return e.Script(ctx, m, "rm -rf "+bad)
}

// badBackup is one way in which a copy of a backup can be damaged.
type badBackup struct {
	name, do, says string
}

func badBackups() []badBackup {
	const (
		sums = " && { cd $D; find . -type f ! -name SHA256SUMS -printf '%P\\n' | xargs sha256sum >SHA256SUMS; }"
		flip = "size=$(stat -c %s $D/etcd.db) && printf X | dd of=$D/etcd.db bs=1 seek=$((size/2)) conv=notrunc status=none"
	)
	return []badBackup{
		{"a byte of etcd.db", flip, "etcd.db does not match SHA256SUMS"},
		{"a byte of etcd.db, and new sums", flip + sums, "does not match its checksum"},
		{"etcd.db is cut", "truncate -s 100000 $D/etcd.db" + sums, "it is cut off"},
		{"no etcd.db", "rm $D/etcd.db" + sums, "etcd.db is not in it"},
		{"a file is missing", "rm $D/etc/kubernetes/pki/etcd/ca.key", "no such file"},
		{"a key is in no list", "rm $D/etc/kubernetes/pki/sa.key" + sums, "/etc/kubernetes/pki/sa.key"},
		{"a key of something else", "cp $D/etc/kubernetes/pki/etcd/ca.key $D/etc/kubernetes/pki/ca.key" + sums, "does not match"},
		{"no keys of the Secrets", "rm $D/etc/kubernetes/apiserver/encryption.yaml" + sums, "encryption.yaml"},
		{"another cluster", "sed -i s/10.88.0.11:6443/10.88.0.99:6443/ $D/etc/kubernetes/admin.conf" + sums, "the API's address was 10.88.0.99:6443"},
		{"another minor", "sed -i s/v1.36.3/v1.35.8/ $D/etc/kubernetes/manifests/kube-apiserver.yaml" + sums, "Kubernetes was 1.35.8"},
		{"a link to elsewhere", "rm $D/etc/kubernetes/admin.conf && ln -s /etc/passwd $D/etc/kubernetes/admin.conf", "is no file"},
		{"nothing at all", "rm -r $D/*", "SHA256SUMS"},
	}
}

// damagedBackups checks that restore refuses each of them without a check of the signature, and
// changes nothing on the server.
func damagedBackups(ctx context.Context, e *scenario.Env, m lab.Machine, s saved) error {
	const bad = savedDir + "/bad"
	for _, b := range badBackups() {
		if err := e.Script(ctx, m, "rm -rf "+bad+" && cp -a "+savedDir+"/"+s.name+" "+bad, "umask 077; D="+bad+"; "+b.do); err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		r, err := e.On(ctx, m, "", strings.Fields(restoreCommand(bad+" --allow-unsigned"))...)
		if err != nil {
			return err
		}
		if err := r.Want("restore of a backup: "+b.name, 1, b.says, "hint: "); err != nil {
			return err
		}
		if err := notStarted(ctx, e, m); err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
	}
	return e.Script(ctx, m, "rm -rf "+bad)
}

func notStarted(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	return e.Script(ctx, m, "! test -e /var/lib/airgap/journal.jsonl", "! test -e /etc/kubernetes", "! test -e /etc/airgap/pki", "! test -e /var/lib/airgap/restored", "[ -z \"$(ls -A /var/lib/etcd 2>/dev/null)\" ]")
}

// wouldRestore does a dry run, and runs the command without its required flags.
func wouldRestore(ctx context.Context, e *scenario.Env, m lab.Machine, from string) error {
	if _, err := e.Must(ctx, m, []string{"airgap restore would run", "restore etcd's data", "nothing was changed"}, strings.Fields(restoreCommand(from)+" --dry-run")...); err != nil {
		return err
	}
	dir := strings.Fields(from)[0]
	for _, missing := range [][]string{{"--bundle", "--allow-unsigned"}, {"--backup-key", "--bundle", lab.StickPath + "/bank"}} {
		r, err := e.On(ctx, m, "", append([]string{"airgap", "restore", dir}, missing[1:]...)...)
		if err != nil {
			return err
		}
		if err := r.Want("restore without "+missing[0], 2, missing[0]+" is missing"); err != nil {
			return err
		}
	}
	return notStarted(ctx, e, m)
}

// restoreKilled kills the command while it restores keys and data, twice together with
// kubeadm.
func restoreKilled(ctx context.Context, e *scenario.Env, m lab.Machine, from string) error {
	k := &kills.Killing{E: e, M: m, Command: restoreCommand(from), Steps: []kills.Step{{Name: "restored"}, {Name: "runtime"}, {Name: "kubeadm"}, {Name: "node-report-unit"}}}
	moments := []kills.Moment{
		{Step: "restored", Event: "ended"},
		{Step: "runtime", Event: "ended"},
		{Step: "kubeadm", Event: "began", After: 150 * time.Millisecond, Children: true},
		{Step: "kubeadm", Event: "began", After: 4 * time.Second, Children: true},
		{Step: "kubeadm", Event: "began", After: time.Second},
		{Step: "node-report-unit", Event: "began"},
	}
	if err := k.Run(ctx, moments); err != nil {
		return err
	}
	if k.Missed > 0 || k.Done || k.In["kubeadm"] < 3 {
		return fmt.Errorf("kills did not come at their moments: %+v", k.In)
	}
	return nil
}

// restoredHost restores to the end, and checks that only the worker is lost.
func restoredHost(ctx context.Context, e *scenario.Env, m lab.Machine, from string) (restored, error) {
	done, err := restoreOn(ctx, e, m, from)
	if err == nil && (done.Verified || strings.Join(done.Lost, " ") != "node2" || len(done.Join) != 1 || done.Join[0].Code == "") {
		err = fmt.Errorf("restore reports %+v, want the lost node node2 and its join command", done)
	}
	return done, err
}

func restoreOn(ctx context.Context, e *scenario.Env, m lab.Machine, from string) (done restored, err error) {
	r, err := e.Must(ctx, m, nil, append(strings.Fields(restoreCommand(from)), "--output", "json")...)
	if err != nil {
		return done, err
	}
	fmt.Fprint(e.Log, r.Stderr)
	return done, json.Unmarshal([]byte(r.Stdout), &done)
}

func restoredAlready(ctx context.Context, e *scenario.Env, m lab.Machine, from string) error {
	done, err := restoreOn(ctx, e, m, from)
	if err == nil && (done.Changed != 0 || len(done.Join) != 1 || done.Join[0].Code != "") {
		err = fmt.Errorf("a second restore reports %+v, want nothing changed and no join token", done)
	}
	return err
}

// dataRestored checks that the cluster has exactly the objects of the time of the backup, one
// member of etcd and encrypted Secrets, and that it accepts a token from before the backup.
func dataRestored(ctx context.Context, e *scenario.Env, m lab.Machine, s saved) error {
	if err := scenario.Members(ctx, e, m, 1); err != nil {
		return err
	}
	if err := e.Script(ctx, m,
		"[ $("+scenario.Kubectl+"get configmap before -o jsonpath={.data.word}) = before ]",
		scenario.IsGone("configmap after"),
		"[ $("+scenario.Kubectl+"get secret plain -o jsonpath={.data.word} | base64 -d) = known ]",
		"[ $("+scenario.Kubectl+"get deployment app -o jsonpath={.spec.replicas}) = 2 ]",
		scenario.Kubectl+"get secret bank >/dev/null",
		"cmp "+savedDir+"/"+s.name+"/etc/kubernetes/pki/ca.key /etc/kubernetes/pki/ca.key && cmp "+savedDir+"/"+s.name+"/etc/airgap/pki/ca.key /etc/airgap/pki/ca.key",
		"[ $(stat -c %a /etc/kubernetes/pki/sa.key) = 600 ] && [ $(stat -c %a /var/lib/etcd) = 700 ] && [ $(stat -c '%a %G' /etc/airgap/pki/registry.key | tr ' ' :) = 640:airgap ]",
		"grep -q '\"step\":\"kubeadm\",\"event\":\"ended\"' /var/lib/airgap/restored/journal.jsonl",
	); err != nil {
		return err
	}
	const ask = "code=$(curl --silent --output /dev/null --write-out '%{http_code}' --cacert /etc/kubernetes/pki/ca.crt -H @/dev/stdin https://10.88.0.11:6443/api) && [ $code = 200 ]"
	err := m.Exec(ctx, lab.Cmd{Args: []string{"sh", "-c", ask}, Stdin: strings.NewReader("Authorization: Bearer " + s.token + "\n")})
	if err != nil {
		return fmt.Errorf("send a request with a token from before the backup: %w", err)
	}
	return nil
}

// joinAgain joins the fresh worker under the name of the lost one.
func joinAgain(ctx context.Context, e *scenario.Env, worker lab.Machine, stick string, done restored) error {
	if err := e.InstallProgram(ctx, worker, stick); err != nil {
		return err
	}
	_, err := e.AirgapOn(ctx, worker, done.Join[0].Code+"\n", e.JoinArgs(done.Join[0])...)
	return err
}

// podsAgain checks that the pods of the backup run, and that a new pod starts on the worker.
// For that, the worker's kubelet must get changes from the restored API server.
func podsAgain(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	return e.Script(ctx, m,
		scenario.Kubectl+"wait --for=condition=Ready node --all --timeout=120s >/dev/null",
		scenario.Kubectl+"rollout status deployment app --timeout=180s",
		scenario.Kubectl+"delete pod today --ignore-not-found --now",
		scenario.Kubectl+`run today --image=hello:1.0 --overrides='{"spec":{"nodeName":"node2"}}'`,
		scenario.Kubectl+"wait --for=condition=Ready pod/today --timeout=120s",
	)
}

// restoreWithWorker restores on the first host while the worker runs: the worker must
// reconnect without a join.
func restoreWithWorker(ctx context.Context, e *scenario.Env, m lab.Machine, from string) error {
	done, err := restoreOn(ctx, e, m, from)
	if err == nil && (!done.Verified || len(done.Lost)+len(done.Join) > 0) {
		err = fmt.Errorf("restore reports %+v, want a verified cluster without lost nodes", done)
	}
	return err
}
