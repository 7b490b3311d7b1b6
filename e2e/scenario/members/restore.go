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

// savedDir is where a person puts the copy of a backup on a new server.
const savedDir = "/root/saved"

// saved is what a person has of a cluster that is lost.
type saved struct {
	name     string // of the backup's directory
	sealed   string // of that of an encrypted one
	archive  []byte // both, copied to somewhere else
	key      string // fingerprint of the one that signed them
	identity string // decrypts the second one
	token    string // of a service account, made before
}

func (s saved) plain() string { return savedDir + "/" + s.name + " --backup-key " + s.key }

func (s saved) encrypted() string {
	return savedDir + "/" + s.sealed + " --backup-key " + s.key + " --identity " + savedDir + "/identity"
}

// RestoreAll throws a cluster away with its hosts and has it back on fresh ones, from
// a backup that was copied to elsewhere.
func RestoreAll(ctx context.Context, e *scenario.Env) error {
	e.Rules = append(e.Rules, secrets.Rule{Path: savedDir + "/**", Kinds: []secrets.Kind{secrets.Key, secrets.Code, secrets.EncryptionKey}, Mode: 0o600, Why: "a copy of a backup"})
	stick := filepath.Join(e.Work, "stick")
	var s saved
	if err := e.Bank(ctx, 2, func(l *lab.Lab) error { return lose(ctx, e, l, stick, &s) }); err != nil {
		return err
	}
	return e.Bank(ctx, 2, func(l *lab.Lab) error { return haveBack(ctx, e, l, stick, s) })
}

// lose makes a cluster, and takes nothing of it but a backup.
func lose(ctx context.Context, e *scenario.Env, l *lab.Lab, stick string, s *saved) error {
	first, worker := l.Machines[0], l.Machines[1]
	return e.InOrder([]scenario.Part{
		{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
		{Title: "bundle", Run: func() error { return e.MakeBundle(ctx, stick) }},
		{Title: "install", Run: func() error { return installedHost(ctx, e, first, stick) }},
		{Title: "join", Run: func() error { return e.Join(ctx, first, worker, stick) }},
		{Title: "what the backup is to have", Run: func() error { return before(ctx, e, first, s) }},
		{Title: "a backup, taken away", Run: func() error { return takenAway(ctx, e, first, s) }},
		{Title: "what it is not to have", Run: func() error {
			return e.Script(ctx, first, scenario.Kubectl+"create configmap after --from-literal=word=after", scenario.Kubectl+"scale deployment app --replicas=0")
		}},
	})
}

func installedHost(ctx context.Context, e *scenario.Env, m lab.Machine, stick string) error {
	if err := e.Begin(ctx, m, stick); err != nil {
		return err
	}
	_, err := e.AirgapOn(ctx, m, "", "install", scenario.LabSkips, lab.StickPath+"/bank")
	return err
}

// before makes objects of each kind that a restore has to bring back: a workload, an
// encrypted Secret, plain data, the token of a service account.
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
	var err error // not by a way that keeps what commands say
	s.token, err = lab.Output(ctx, m, "sh", "-c", scenario.Kubectl+"create token robot --duration=24h")
	return err
}

// takenAway takes a plain backup and one that is encrypted to an SSH key, into one directory.
func takenAway(ctx context.Context, e *scenario.Env, m lab.Machine, s *saved) error {
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

// madeBackup is what `airgap backup --output json` prints.
type madeBackup struct{ Dir, Key string }

func takeBackup(ctx context.Context, e *scenario.Env, m lab.Machine, flags ...string) (b madeBackup, err error) {
	r, err := e.Must(ctx, m, nil, append([]string{"airgap", "backup", "--output", "json"}, flags...)...)
	if err != nil {
		return b, err
	}
	return b, json.Unmarshal([]byte(r.Stdout), &b)
}

// bringSaved puts what a person has kept onto a fresh server.
func bringSaved(ctx context.Context, m lab.Machine, s saved) error {
	if err := m.Exec(ctx, lab.Cmd{Args: []string{"sh", "-c", "umask 077; mkdir " + savedDir + " && tar -C " + savedDir + " -x"}, Stdin: bytes.NewReader(s.archive)}); err != nil {
		return err
	}
	return m.Exec(ctx, lab.Cmd{Args: []string{"sh", "-c", "umask 077; cat >" + savedDir + "/identity"}, Stdin: strings.NewReader(s.identity + "\n")})
}

// haveBack restores on fresh servers of the same names.
func haveBack(ctx context.Context, e *scenario.Env, l *lab.Lab, stick string, s saved) error {
	first, worker := l.Machines[0], l.Machines[1]
	from := s.plain()
	var done restored
	return e.InOrder([]scenario.Part{
		{Title: "the backup, on a fresh server", Run: func() error { return bringSaved(ctx, first, s) }},
		{Title: "the program, from the stick", Run: func() error { return e.Begin(ctx, first, stick) }},
		{Title: "damaged backups are refused", Run: func() error { return damagedBackups(ctx, e, first, s) }},
		{Title: "foreign backups are refused", Run: func() error { return foreignBackups(ctx, e, first, s) }},
		{Title: "what it would do", Run: func() error { return wouldRestore(ctx, e, first, from) }},
		{Title: "restore, killed again and again", Run: func() error { return restoreKilled(ctx, e, first, from) }},
		{Title: "restore", Run: func() (err error) { done, err = restoredHost(ctx, e, first, from); return err }},
		{Title: "the data of then, and no other", Run: func() error { return asThen(ctx, e, first, s) }},
		{Title: "a second restore", Run: func() error { return restoredAlready(ctx, e, first, from) }},
		{Title: "the worker joins again", Run: func() error { return joinAgain(ctx, e, worker, stick, done) }},
		{Title: "pods run again", Run: func() error { return podsAgain(ctx, e, first) }},
		{Title: "verify", Run: func() error { return e.Verified(ctx, first) }},
		{Title: "the first host is lost, the worker lives", Run: func() error {
			_, err := e.Must(ctx, first, []string{"undone: "}, "airgap", "reset", "--yes", "--wipe-data")
			return err
		}},
		{Title: "nothing is left of the restore", Run: func() error {
			return e.Script(ctx, first, "! test -e /var/lib/airgap/restored", "! test -e /var/lib/airgap/backup-key", "! ls -d /var/lib/airgap/airgap-restore-* 2>/dev/null", "! test -e /etc/airgap/pki/ca.key", "! test -e /etc/kubernetes", "! test -e /var/lib/etcd/member")
		}},
		{Title: "restore with a worker that lives", Run: func() error { return restoreBeside(ctx, e, first, s.encrypted()) }},
		{Title: "the data of then, again", Run: func() error { return asThen(ctx, e, first, s) }},
		{Title: "pods run again, without a join", Run: func() error { return podsAgain(ctx, e, first) }},
		{Title: "verify again", Run: func() error { return e.Verified(ctx, first) }},
	})
}

// restored is what `airgap restore --output json` prints.
type restored struct {
	scenario.Installed
	Verified bool
	Lost     []string
}

// restoreCommand is for a backup's directory, with the flags that say who made it.
func restoreCommand(from string) string {
	return "airgap restore " + from + " --bundle " + lab.StickPath + "/bank " + scenario.LabSkips
}

// foreignBackups wants what the cluster's hosts have not made refused, before anything of it is
// used: forged by a person who has the copy, stripped of its signature, signed by another key.
func foreignBackups(ctx context.Context, e *scenario.Env, m lab.Machine, s saved) error {
	const bad = savedDir + "/bad"
	const forge = "echo forged >>$D/etc/kubernetes/admin.conf && { cd $D; find . -type f ! -name 'SHA256SUMS*' ! -name backup.pub -printf '%P\\n' | xargs sha256sum >SHA256SUMS; }"
	const signed = " && openssl ecparam -name prime256v1 -genkey -noout -out /root/forger && openssl pkey -in /root/forger -pubout -out $D/backup.pub && openssl dgst -sha256 -sign /root/forger -out $D/SHA256SUMS.sig $D/SHA256SUMS && rm /root/forger"
	for _, b := range []struct{ what, of, do, flags, says string }{
		{"forged", s.name, forge, "--backup-key " + s.key, "does not fit SHA256SUMS"},
		{"forged and signed", s.name, forge + signed, "--backup-key " + s.key, "it is signed with key SHA256:"},
		{"stripped", s.name, "rm $D/SHA256SUMS.sig", "--backup-key " + s.key, "it is not signed"},
		{"another key's", s.name, "true", "--backup-key SHA256:" + strings.Repeat("ab", 32), "it is signed with key " + s.key},
		{"encrypted, a byte changed", s.sealed, "printf X | dd of=$D/backup.tar.age bs=1 seek=5000 conv=notrunc status=none", "--backup-key " + s.key, "backup.tar.age does not match SHA256SUMS"},
		{"encrypted to others", s.sealed, "ssh-keygen -q -t ed25519 -N '' -f $D/other", "--backup-key " + s.key + " --identity " + bad + "/other", "encrypted to other recipients"},
	} {
		if err := e.Script(ctx, m, "rm -rf "+bad+" && cp -a "+savedDir+"/"+b.of+" "+bad, "umask 077; D="+bad+"; "+b.do); err != nil {
			return fmt.Errorf("%s: %w", b.what, err)
		}
		r, err := e.On(ctx, m, "", strings.Fields(restoreCommand(bad+" "+b.flags))...)
		if err != nil {
			return err
		}
		if err := r.Want("restore of a backup: "+b.what, 1, b.says, "hint: "); err != nil {
			return err
		}
		if err := unbegun(ctx, e, m); err != nil {
			return fmt.Errorf("%s: %w", b.what, err)
		}
	}
	return e.Script(ctx, m, "rm -rf "+bad)
}

// badBackup is one way in which a copy of a backup may not be what was taken.
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

// damagedBackups wants each refused, and the server as it was, also where the signature is not
// looked at.
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
		if err := unbegun(ctx, e, m); err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
	}
	return e.Script(ctx, m, "rm -rf "+bad)
}

func unbegun(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	return e.Script(ctx, m, "! test -e /var/lib/airgap/journal.jsonl", "! test -e /etc/kubernetes", "! test -e /etc/airgap/pki", "! test -e /var/lib/airgap/restored", "[ -z \"$(ls -A /var/lib/etcd 2>/dev/null)\" ]")
}

// wouldRestore is a dry run, and the command without its bundle.
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
	return unbegun(ctx, e, m)
}

// restoreKilled kills the command, and twice kubeadm with it, while it has keys and
// data on the way.
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
		return fmt.Errorf("kills did not hit where they were meant: %+v", k.In)
	}
	return nil
}

// restored comes to the end, and misses the worker.
func restoredHost(ctx context.Context, e *scenario.Env, m lab.Machine, from string) (restored, error) {
	done, err := restoreOn(ctx, e, m, from)
	if err == nil && (done.Verified || strings.Join(done.Lost, " ") != "node2" || len(done.Join) != 1 || done.Join[0].Code == "") {
		err = fmt.Errorf("restore says %+v, want node2 to be lost, and how it joins", done)
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
		err = fmt.Errorf("a second restore says %+v, want nothing changed and no code", done)
	}
	return err
}

// asThen wants what was there when the backup was taken, and nothing later: in one
// member of etcd, Secrets encrypted, tokens good, codes of then not.
func asThen(ctx context.Context, e *scenario.Env, m lab.Machine, s saved) error {
	if err := scenario.Members(ctx, e, m, 1); err != nil {
		return err
	}
	if err := e.Script(ctx, m,
		"[ $("+scenario.Kubectl+"get configmap before -o jsonpath={.data.word}) = before ]",
		scenario.Gone("configmap after"),
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
		return fmt.Errorf("ask with a token of before: %w", err)
	}
	return nil
}

// joinAgain lets the fresh worker in under the name of the lost one.
func joinAgain(ctx context.Context, e *scenario.Env, worker lab.Machine, stick string, done restored) error {
	if err := e.Begin(ctx, worker, stick); err != nil {
		return err
	}
	_, err := e.AirgapOn(ctx, worker, done.Join[0].Code+"\n", e.JoinArgs(done.Join[0])...)
	return err
}

// podsAgain wants the pods of then to run, and new ones of today on the worker, whose
// kubelet has to see changes for that.
func podsAgain(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	return e.Script(ctx, m,
		scenario.Kubectl+"wait --for=condition=Ready node --all --timeout=120s >/dev/null",
		scenario.Kubectl+"rollout status deployment app --timeout=180s",
		scenario.Kubectl+"delete pod today --ignore-not-found --now",
		scenario.Kubectl+`run today --image=hello:1.0 --overrides='{"spec":{"nodeName":"node2"}}'`,
		scenario.Kubectl+"wait --for=condition=Ready pod/today --timeout=120s",
	)
}

// restoreBeside restores on the first host alone: the worker comes back by itself, so
// that nobody has to join.
func restoreBeside(ctx context.Context, e *scenario.Env, m lab.Machine, from string) error {
	done, err := restoreOn(ctx, e, m, from)
	if err == nil && (!done.Verified || len(done.Lost)+len(done.Join) > 0) {
		err = fmt.Errorf("restore says %+v, want a verified cluster that misses nobody", done)
	}
	return err
}
