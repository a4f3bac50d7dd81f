URL, LIMIT = "https://rollcall.example.org/ping/UUID", 100000
WRITTEN = String.new # the end of the output

def report(path, body = "")
  pauses = [1, 2]
  begin
    require "net/http"
    url, answer = URI(URL + path), nil
    6.times do # redirects
      answer = Net::HTTP.start(url.host, url.port, use_ssl: url.scheme == "https", open_timeout: 5, read_timeout: 5) do |http|
        http.post(url.request_uri, body.b[-LIMIT..-1] || body)
      end
      answer["location"] ? url += answer["location"] : break
    end
    raise "status #{answer.code}" unless answer.body == "OK"
  rescue StandardError, LoadError => e # a failed ping does not stop the job
    (sleep(pauses.shift); retry) unless pauses.empty?
    warn "ping failed: #{e.class}#{" #{e.message}" if e.is_a?(RuntimeError)}"
  end
end

[$stdout, $stderr].each do |file|
  file.define_singleton_method(:write) do |*texts|
    texts.each { |text| WRITTEN << text.to_s.b }
    WRITTEN.replace(WRITTEN.byteslice(-LIMIT, LIMIT)) if WRITTEN.bytesize > 2 * LIMIT
    super(*texts)
  end
end

report("/start")
at_exit do
  status = $!.is_a?(SystemExit) ? $!.status : $! ? 1 : 0
  WRITTEN << [$!.class, $!.message, *$!.backtrace].join("\n").b if status == 1 && !$!.is_a?(SystemExit)
  report("/#{status}", WRITTEN)
end

# Your code follows.
