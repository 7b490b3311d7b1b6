# Removes the files and packages of scenarios from a host. $1 is the directory with the saved
# state of the host, $2 a support bundle.
set -eu
if rpm --quiet -q airgap; then
	airgap reset --yes --wipe-data
	rpm -e airgap
fi
# New keys are those of bundles: INSTALL.txt imports them.
for key in $(rpm -qa --qf '%{NAME}-%{VERSION}-%{RELEASE}\n' 'gpg-pubkey*'); do
	grep -qx "$key" "$1/packages" || rpm -e "$key"
done
rm -rf "$2" /root/airgap /root/code /root/survey.sh /root/.kube/cache
rmdir /root/.kube 2>/dev/null || true
