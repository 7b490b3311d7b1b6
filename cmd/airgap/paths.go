package main

// Where airgap keeps things on a bank's server. airgap.rpm owns the
// directories.
const (
	stateDir    = "/var/lib/airgap"
	storeDir    = stateDir + "/store"         // bundles, served in place
	pushedDir   = stateDir + "/pushed"        // what the site itself pushes
	joinDir     = stateDir + "/join"          // what joining hosts may read
	journalFile = stateDir + "/journal.jsonl" // what ran, for people and for reset
	networkDir  = stateDir + "/network"       // how pods' packets travel, where the site was asked
	indexDir    = stateDir + "/index"         // on a host that joined: the signed index it joined with
	lockFile    = stateDir + "/lock"          // one install, join or reset at a time
	reportFile  = stateDir + "/report.json"   // what airgap-node-report.service has to look at
	backupDir   = stateDir + "/backup"        // of the control plane: keys are in it
	backupKeys  = stateDir + "/backup-key"    // what backups are signed with, and whom they are encrypted to
	upgradeDir  = stateDir + "/upgrade"       // what an upgrade writes down, and its way back
	restoredDir = stateDir + "/restored"      // of a restored host: which backup, and what the old host's journal said
	dnfDir      = stateDir + "/dnf"           // private dnf configuration and cache
	undoDir     = stateDir + "/undo"          // what steps wrote down for reset

	pkiDir       = "/etc/airgap/pki"           // the registry's certificates
	trustDir     = "/etc/pki/airgap"           // *.pub: keys that airgap.rpm brings; bundles must be signed with one
	requiredFile = "/etc/airgap/required-keys" // fingerprints, by --require-key: they count instead
	logDir       = "/var/log/airgap"
	dnfLog       = logDir + "/dnf.log"

	knownHostsFile = stateDir + "/known_hosts"   // host keys that somebody has vouched for
	measuredFile   = stateDir + "/measured.json" // how pods' packets can travel, by airgap netprobe listen, until install takes it
	hostLogDir     = logDir + "/hosts"           // what the other hosts said, one file each

	versionlockUndo = undoDir + "/versionlock.json"

	rpmKeyFile = "/etc/pki/rpm-gpg/RPM-GPG-KEY-airgap"

	certsDir       = "/etc/containerd/certs.d"
	existingCAFile = "/etc/airgap/existing-registry.crt" // authority of a registry of the site's own
	registryOpts   = "/etc/sysconfig/airgap-registry"
	usersFile      = "/etc/airgap/registry.htpasswd" // who may push
	serviceGroup   = "airgap"                        // of the registry's user, made by airgap.rpm
)
