package discover

import (
	"testing"
	"time"
)

func TestCommandName(t *testing.T) {
	for _, test := range []struct{ command, want string }{
		{"/usr/local/bin/backup.sh", "backup"},
		{"nice -n 19 ionice -c2 -n7 /opt/x/index.py --all", "index"},
		{"nice -19 /opt/x/index", "index"},
		{"sudo -u www-data php /srv/x/cron.php", "cron"},
		{"sudo -H -u www bash -c 'cd /x && ./go.sh'", "go"},
		{"su - postgres -c 'pg_dump shop > /b/shop.sql'", "pg_dump"},
		{"su postgres -s /bin/sh -c \"/usr/bin/vacuumdb -a\"", "vacuumdb"},
		{"su -c '/opt/x/a.sh' www", "a"},
		{"runuser -u git -- /opt/gitea dump", "gitea"},
		{"flock -w 10 /tmp/l /usr/bin/php /srv/artisan schedule:run", "artisan-schedule:run"},
		{"flock -xn /tmp/l -c '/opt/a.sh'", "a"},
		{"timeout -k 5 2h /opt/x/load", "load"},
		{"timeout --signal=KILL 2h bash /opt/x/load.sh", "load"},
		{"env -i PATH=/bin /opt/x/clean", "clean"},
		{"env -S 'node /x/y.js'", "y"},
		{"/usr/bin/env python3 /x/y.py", "y"},
		{"cd /srv && . ./env && python3 -m app.jobs.send_mail", "send_mail"},
		{"cd /srv; venv/bin/python manage.py clearsessions --settings=x", "manage-clearsessions"},
		{"php /srv/shop/bin/magento cron:run", "magento-cron:run"},
		{"php -d memory_limit=1G /srv/x/run.php", "run"},
		{"php -q /srv/x/run.php", "run"},
		{"php -r 'echo 1;'", "php"},
		{"cd /srv && bundle exec rake db:clean", "rake-db:clean"},
		{"npm --prefix /srv run build", "npm-build"},
		{"yarn --silent report", "yarn-report"},
		{"make -C /srv backup", "make-backup"},
		{"npx ts-node jobs/sync.ts", "sync"},
		{"node --max-old-space-size=4096 /srv/jobs/sync.js", "sync"},
		{"java -Xmx1g -jar /opt/app-1.2.jar --run", "app-1.2"},
		{"java -cp /opt/x com.example.Report", "Report"},
		{"docker exec -i db pg_dump -U u x", "pg_dump"},
		{"docker exec db sh -c 'mysqldump x > /b'", "mysqldump"},
		{"docker run --rm -v /a:/b registry.example.org/tools/sync:1.2", "sync"},
		{"docker run --rm alpine sh -c 'echo x; /bin/job'", "job"},
		{"docker-compose -f /srv/x.yml exec -T app php artisan queue:work", "artisan-queue:work"},
		{"docker compose --project-directory /srv exec -T web ./run.sh", "run"},
		{"docker start nightly", "docker-start"},
		{"kubectl exec -n a pod -- /bin/job", "job"},
		{"runitor -uuid 0b1c -- /opt/x/a.sh --x", "a"},
		{"runitor -slug x -every 1h -- restic backup", "restic"},
		{"cronitor exec a1B2c3 /opt/x/a.sh", "a"},
		{"cronitor exec a1B2c3 'cd /x && ./a.sh'", "a"},
		{"rollcall run --slug nightly -- backup.sh /home", "backup"},
		{"wget -O - -q -t 1 http://www.example.org/cron.php", "www.example.org"},
		{"curl -s https://user:key@example.org:8080/x?y=z", "example.org"},
		{"curl example.org/cron", "example.org"},
		{"curl -fsS https://hc-ping.com/0b1c/start && /opt/a.sh; curl https://hc-ping.com/0b1c/$?", "a"},
		{"for i in 1 2 3; do /opt/x/a.sh $i; done", "a"},
		{"while read x; do :; done", "read"},
		{"{ /opt/x/a; /opt/x/b; } > /dev/null", "a"},
		{"(cd /x && ./y.pl) > /dev/null 2>&1", "y"},
		{"! /opt/x/a || mail root", "a"},
		{"[ -x /usr/bin/certbot ] && perl -e 'sleep int(rand(43200))' && certbot -q renew", "certbot"},
		{"python -c 'import random; import time; time.sleep(random.random() * 3600)' && certbot renew", "certbot"},
		{"command -v x >/dev/null && x", "x"},
		{"X=1 Y='a b' /opt/x/a", "a"},
		{"bash -euo pipefail -c 'cd /x; ./a.sh | tee log'", "a"},
		{"bash --login -c \"/opt/x/a.sh\"", "a"},
		{"bash -lc '/opt/x/a.sh'", "a"},
		{"sh -x /opt/x/a.sh", "a"},
		{"echo hello >> /tmp/x", "echo"},
		{"date", "date"},
		{"sleep 30; /opt/x/tick", "tick"},
		{"$HOME/bin/job.sh", "job"},
		{"~/bin/job", "job"},
		{"\"$DIR/my job.sh\" x", "my job"},
		{"/opt/x/backup.sh\r", "backup"},
		{"sentry-cli monitors run nightly -- php x.php", "x"},
		{"perl /x/y.pl", "y"},
		{"/usr/local/bin/python3.11 /x/y.py", "y"},
		{"xvfb-run -a node shot.js", "shot"},
		{"time nice tar czf x y", "tar"},
		{"systemd-run --scope --unit=x /opt/x/a", "a"},
		{"chronic /opt/x/a", "a"},
		{"exec /opt/x/a", "a"},
		{"eval \"$(x)\"; /opt/x/a", "$(x)"},
		{"uv run --with x jobs/a.py", "a"},
		{"poetry run python -m jobs.b", "b"},
		{"/bin/true", "true"},
		{"", ""},
		{"&&", ""},
		{"sh -c", "sh"},
		{"sudo", "sudo"},
	} {
		if got := commandName(test.command); got != test.want {
			t.Errorf("%s: %q, want %q", test.command, got, test.want)
		}
	}
}

func TestSleepsAndLimits(t *testing.T) {
	for _, test := range []struct {
		command      string
		sleep, limit time.Duration
	}{
		{"sleep 90; /opt/x/a", 90 * time.Second, 0},
		{"sleep 15m && /opt/x/a", 15 * time.Minute, 0},
		{"sleep 1h 30m; /opt/x/a", 90 * time.Minute, 0},
		{"/opt/x/a; sleep 600", 0, 0},
		{"sleep $((RANDOM % 1800)); /opt/x/a", 30 * time.Minute, 0},
		{"sleep $[ RANDOM % 600 ]s; /opt/x/a", 10 * time.Minute, 0},
		{"sleep $(( ( RANDOM % 10 ) + 1 ))m && /opt/x/a", 10 * time.Minute, 0},
		{"sleep $(shuf -i 0-300 -n 1); /opt/x/a", 5 * time.Minute, 0},
		{"sleep `expr $RANDOM % 600`; /opt/x/a", 10 * time.Minute, 0},
		{"perl -e 'sleep int(rand(43200))' && certbot renew", 12 * time.Hour, 0},
		{"python3 -c 'import random; import time; time.sleep(random.random() * 3600)' && certbot renew", time.Hour, 0},
		{"/bin/bash -c 'sleep $((RANDOM % 600)); /opt/x/a'", 10 * time.Minute, 0},
		{"timeout 2h /opt/x/a", 0, 2 * time.Hour},
		{"nice -n 5 timeout -k 10 90m /opt/x/a", 0, 90 * time.Minute},
		{"flock -n /l timeout 600 /opt/x/a", 0, 10 * time.Minute},
		{"cd /x && timeout 1.5h ./a", 0, 90 * time.Minute},
		{"bash -c 'timeout 5m ./a'", 0, 5 * time.Minute},
		{"timeout", 0, 0},
		{"timeout 99999999999999d x", 0, 0},
	} {
		var sleep time.Duration
		for _, d := range sleeps(test.command) {
			sleep += d.by
		}
		if got := limit(test.command); got != test.limit || sleep != test.sleep {
			t.Errorf("%s: sleeps %v, ends after %v; want %v and %v", test.command, sleep, got, test.sleep, test.limit)
		}
	}
}
