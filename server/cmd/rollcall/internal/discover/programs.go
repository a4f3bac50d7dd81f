package discover

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// set makes a set of the words of a text.
func set(words string) map[string]bool {
	m := make(map[string]bool)
	for word := range strings.FieldsSeq(words) {
		m[word] = true
	}
	return m
}

// idle are commands that prepare the work of others.
var idle = set(`cd pushd popd test [ [[ source . sleep echo printf date true false : export set unset umask ulimit exit return
	trap wait read local declare typeset readonly shift let alias unalias which type hash pgrep if`)

// reserved are words of the shell in front of a command.
var reserved = set("if then elif else while until do ! { time fi done esac }")

// wrapper is a program that runs another one.
type wrapper struct {
	// values are the options that take the next word.
	values map[string]bool
	// skip is how many words that are no options stand before the command.
	skip int
	// script is the option whose value is a command line, such as -c.
	script string
	// assigns says that assignments may stand before the command.
	assigns bool
}

// wrappers are by the name of the program.
var wrappers = map[string]wrapper{
	"nice": {values: set("-n --adjustment")}, "ionice": {values: set("-c -n -p --class --classdata")},
	"chrt": {values: set("-T -P -D"), skip: 1}, "taskset": {skip: 1}, "nohup": {}, "setsid": {}, "stdbuf": {values: set("-i -o -e")},
	"chronic": {}, "time": {}, "cronic": {}, "unbuffer": {}, "caffeinate": {}, "exec": {}, "builtin": {}, "eval": {script: "eval"},
	"flock":   {values: set("-w -E --timeout --conflict-exit-code --wait"), skip: 1, script: "-c"},
	"lockrun": {}, "lockf": {values: set("-t"), skip: 1}, "setlock": {skip: 1}, "run-one": {}, "run-this-one": {}, "solo": {},
	"timeout": {values: set("-k -s --kill-after --signal"), skip: 1}, "gtimeout": {values: set("-k -s"), skip: 1},
	"env": {values: set("-u -C -S --unset --chdir"), script: "-S", assigns: true}, "envdir": {skip: 1}, "envuidgid": {skip: 1},
	"setuidgid": {skip: 1}, "softlimit": {values: set("-a -c -d -f -l -m -o -p -r -s -t")}, "chpst": {values: set("-u -U -b -e -/ -n -l -L -m")},
	"sudo": {values: set("-u -g -h -p -C -r -t -T -U -D -R --user --group"), assigns: true}, "doas": {values: set("-u -C -a")},
	"su": {values: set("-s -g -G --shell"), script: "-c"}, "runuser": {values: set("-u -s -g -G --user --shell"), script: "-c"},
	"systemd-run": {values: set("-p -u -t --unit --property")}, "systemd-cat": {values: set("-t -p")}, "systemd-inhibit": {},
	"xvfb-run": {values: set("-n -s -e -f -w")}, "dbus-run-session": {}, "fakeroot": {}, "chroot": {skip: 1}, "cgexec": {values: set("-g")},
	"numactl": {}, "firejail": {}, "torsocks": {}, "proxychains": {}, "proxychains4": {}, "direnv": {skip: 2},
	"runitor": {values: set("-uuid -slug -ping-key -api-url -api-retries -api-timeout -every -on-success -on-exec-fail -ping-body-limit -check-uuid")},
	"npx":     {values: set("-p --package")}, "dotenv": {values: set("-e -f")}, "with-lock-ex": {skip: 1}, "withlock": {skip: 1}, "busybox": {},
}

// runners run another program as the subcommand that follows, after which the options of the runner may stand.
var runners = map[string]string{
	"bundle": "exec", "uv": "run", "poetry": "run", "pipenv": "run", "rye": "run", "hatch": "run", "op": "run", "doppler": "run",
	"cronitor": "exec", "rollcall": "run", "conda": "run", "aws-vault": "exec", "pnpx": "",
}

// shells and interpreters run a script that they are given by name.
var shells = set("sh bash dash ash zsh ksh mksh fish csh tcsh")

var interpreter = regexp.MustCompile(`^(python|pypy|php|perl|ruby|node|nodejs|deno|bun|Rscript|lua|tclsh|pwsh|tsx|ts-node|jruby)[0-9.]*(-cgi|-cli)?$`)

// interpreterValues are options of interpreters that take the next word.
var interpreterValues = set("-d -c -I -W -X -r -S -t -C -z -Q --require --import")

// subcommands are programs that do nothing without a subcommand, which says more than they do.
var subcommands = set(`artisan rake rails npm yarn pnpm make gmake composer manage console magento wp drush occ just task invoke inv fab
	gulp grunt ant mvn gradle gradlew craft yii sake django-admin flask mix thor cake drupal typo3 symfony phing n98-magerun n98-magerun2`)

// subcommandValues are options of them that take the next word.
var subcommandValues = set("-C -f -j -I -l -o --prefix --directory --file --makefile --project-dir -d -p -s --root")

// containers are programs that run commands in containers.
var containers = set("docker podman nerdctl docker-compose podman-compose lxc kubectl oc")

var containerValues = set(`-u --user -e --env -w --workdir --env-file -f --file -p --project-name --project-directory --profile --name -v --volume --network
	--net -m --memory --cpus -c --container -n --namespace -l --label --entrypoint --mount --link --add-host -h --hostname --context --pull
	--restart --log-driver --cpu-shares -H --host --platform --gpus --index --ansi --shm-size --ulimit --device --cidfile`)

// extension is what a script's name may end in.
var extension = regexp.MustCompile(`^\.[A-Za-z][A-Za-z0-9]{0,5}$`)

// program returns the name of a program or script: without directory and extension.
func program(text string) string {
	name := path.Base(strings.TrimRight(text, "\r"))
	if ext := path.Ext(name); ext != name && extension.MatchString(ext) {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*\+?=`)

// args are the words of a command that remain to be read.
type args []string

// option reports whether the first word is an option. A single hyphen is none.
func (a args) option() bool { return len(a) > 0 && len(a[0]) > 1 && a[0][0] == '-' }

// skip removes options, with the values that some take in the next word.
func (a args) skip(values map[string]bool) args {
	for a.option() {
		if a[0] == "--" {
			return a[1:]
		}
		if values[a[0]] && len(a) > 1 {
			a = a[1:]
		}
		a = a[1:]
	}
	return a
}

// value returns the value of an option: the next word, or what is attached to it, as in -lc.
func (a args) value(option string) (string, bool) {
	for i, word := range a {
		if word == option || len(option) == 2 && len(word) > 2 && word[0] == '-' && word[1] != '-' && strings.HasSuffix(word, option[1:]) {
			if i+1 < len(a) {
				return a[i+1], true
			}
			return "", false
		}
		if rest, ok := strings.CutPrefix(word, "--command="); ok && option == "-c" {
			return rest, true
		}
	}
	return "", false
}

// firstWord returns the first word that is no option.
func (a args) firstWord(values map[string]bool) string {
	if rest := a.skip(values); len(rest) > 0 {
		return rest[0]
	}
	return ""
}

// withoutAssignments removes assignments in front.
func (a args) withoutAssignments() args {
	i := slices.IndexFunc(a, func(word string) bool { return !assignment.MatchString(word) })
	if i < 0 {
		return nil
	}
	return a[i:]
}
