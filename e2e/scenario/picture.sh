# Prints the state of a host, one item for each line: SECTION, a tab, the item. It leaves out
# only items that change on an idle host: counters, and the services that D-Bus starts on
# request and that end when idle.
set -f # the patterns below are for find
export LC_ALL=C
on_demand='systemd-(timedat|hostnam|locale)'
say() { sed "s|^|$1	|"; }

trees="/boot /etc /home /opt /root /srv /usr /var"
volatile="$live -path /var/log/journal -o -path /var/lib/rpm -o -path /var/lib/fapolicyd -o -path /var/lib/systemd -o -path /var/tmp/systemd-private-* -o -path /var/cache/ldconfig"
find $trees \( $volatile \) -prune -o \( -type f -printf '%y %m %u:%g %p %s\n' -o -printf '%y %m %u:%g %p %l\n' \) | say file
find $trees \( $volatile -o -path /var/log \) -prune -o -type f -print0 | xargs -0r sha256sum | say content
find /run \( $live -path /run/systemd -o -path /run/udev -o -path /run/log -o -path /run/media -o -path /run/user -o -path /run/credentials \) -prune -o -printf '%y %p\n' | say run

rpm -qa --qf '%{NAME}-%{EVR}.%{ARCH}\n' | say package
getent passwd | say user
getent group | say group

systemctl list-unit-files --plain --no-legend --no-pager | awk '{ print $1, $2 }' | say unit-file
systemctl list-units --all --plain --no-legend --no-pager | awk '{ print $1, $2, $3 }' | grep -vE "\.device |^$on_demand" | say unit
systemctl list-units --failed --plain --no-legend --no-pager | awk '{ print $1 }' | say failed
# Only processes that still run at a second check: units and the kubelet run iptables,
# systemctl and others for a moment.
first=" $(ps -eo pid= | tr -s ' \n' ' ') "
sleep 3
ps -eo pid=,comm= | awk -v first="$first" 'index(first, " " $1 " ") { $1 = ""; print substr($0, 2) }' | grep -vE "^($on_demand|kworker/|(sh|ps|sed|grep|sort)$)" | sort -u | say process
ss -Hln -t -u | awk '{ print $1, $5 }' | sort -u | say listens
ss -Hln -x | awk '{ print $5 }' | grep '^/' | sort -u | say listens

sysctl -a 2>/dev/null | grep -vE '^(fs\.(dentry-state|file-nr|inode-nr|inode-state|quota\..*)|kernel\.(ns_last_pid|pty\.nr|random\..*)|net\.netfilter\.nf_conntrack_count) ' | say sysctl
nft list tables >/dev/null # loads its modules, as the list of rules below would
cut -d' ' -f1 /proc/modules 2>/dev/null | say module
awk '{ print $2, $3 }' /proc/self/mounts | grep -v '^/run/media/stick ' | say mount
find /sys/fs/cgroup -type d -path '*kubepods*' | say cgroup

ip -brief link | say link
ip -brief address | say address
ip route show table all | say route
ip -6 route show table all | say route
ip rule | say rule
nft --stateless list ruleset 2>&1 | grep -v '^# Warning: table .* is managed by iptables-nft' | say nft
if systemctl is-active --quiet firewalld; then
	firewall-cmd --list-all-zones | say firewalld
	firewall-cmd --permanent --list-all-zones | say firewalld-permanent
fi
if systemctl is-active --quiet fapolicyd; then
	fapolicyd-cli --dump-db | say trusted
fi
cat /proc/net/ip_tables_names /proc/net/ip6_tables_names 2>/dev/null | say legacy-iptables
