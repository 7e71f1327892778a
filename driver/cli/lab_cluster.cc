// polyte lab merge, and lab run on more machines: shards of a plan as a Slurm job array or
// on the hosts of a Dask cluster, each measured by `polyte lab run --shard` in a folder of
// its own, then joined.
#include <filesystem>
#include <iostream>

#include "driver/cli/cli.h"
#include "driver/cli/lab_verbs.h"
#include "driver/lab/child.h"
#include "driver/lab/merge.h"

namespace polyte::cli {
namespace {

namespace fs = std::filesystem;
constexpr double kLongest = 30 * 86400.0;  // seconds that a cluster may take

struct MergeVerb {
  std::vector<std::string> folders;
  std::string out;
};

int run_lab_merge(const MergeVerb& verb) {
  const lab::Merged merged = lab::merge_runs(verb.folders, verb.out);
  std::cout << verb.out << ": " << merged.processes << " processes of " << merged.rows << " rows, "
            << merged.machines << (merged.machines == 1 ? " machine" : " machines")
            << "; polyte lab report " << verb.out << "\n";
  return 0;
}

// In single quotes nothing is special but the quote itself: 'it'\''s'.
std::string shell_word(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string shard_folder(const std::string& folder, const std::string& shard) {
  return folder + "/shards/" + shard;
}

// `--exclusive`: nothing else runs on the machine of a task. %a and SLURM_ARRAY_TASK_ID are the
// number of the task, which is the shard.
std::string job_script(const std::string& folder, const Cluster& cluster) {
  std::string text = "#!/bin/sh\n#SBATCH --job-name=polyte-lab\n#SBATCH --array=0-" +
                     std::to_string(cluster.slurm - 1) +
                     "\n#SBATCH --ntasks=1\n#SBATCH --exclusive\n#SBATCH --output=\"" +
                     shard_folder(folder, "%a.log") + "\"\n";
  for (const std::string& option : cluster.sbatch) {
    if (!option.starts_with("--") || option.find('\n') != std::string::npos)
      throw UserError(ExitStatus::Usage,
                      "--sbatch " + option + ": expected an option of sbatch, --partition=long");
    text += "#SBATCH " + option + "\n";
  }
  return text +
         "# A task measures its rows alone on its machine; what is measured already is kept.\n"
         "exec " +
         shell_word(own_binary()) + " lab run " + shell_word(shard_folder(folder, "")) +
         "\"$SLURM_ARRAY_TASK_ID\" --shard \"$SLURM_ARRAY_TASK_ID\"/" +
         std::to_string(cluster.slurm) + "\n";
}

// Each shard's folder has the plan; those that were measured before keep what they have.
std::vector<std::string> make_shards(const lab::Plan& plan, const std::string& folder, int count) {
  std::vector<std::string> folders;
  for (int i = 0; i < count; ++i) {
    folders.push_back(shard_folder(folder, std::to_string(i)));
    lab::keep_plan(plan, folders.back());
  }
  return folders;
}

void run_command(const std::vector<std::string>& command) {
  const std::string how = lab::run_child(
      command, "", kLongest, [](const std::string& line) { std::cerr << line << "\n"; });
  if (!how.empty())
    throw UserError(ExitStatus::Unsupported, command[0] + " " + how + ": its words are above");
}

// --wait: sbatch ends when all tasks have.
std::vector<std::string> run_slurm(const lab::Plan& plan, const std::string& folder,
                                   const Cluster& cluster) {
  const std::string script = folder + "/job.sbatch";
  const std::vector<std::string> folders = make_shards(plan, folder, cluster.slurm);
  write_file(script, job_script(folder, cluster));
  std::cerr << script << ": a job array of " << cluster.slurm << " tasks, waited for\n";
  run_command({"sbatch", "--parsable", "--wait", script});
  return folders;
}

// The hosts are the shards: the client says how many there are and makes their folders.
std::vector<std::string> run_dask(const lab::Plan& plan, const std::string& folder,
                                  const std::string& address) {
  constexpr const char* kScheme = "dask://";
  if (!address.starts_with(kScheme))
    throw UserError(ExitStatus::Usage, "--workers " + address + ": expected dask://HOST:PORT");
  lab::keep_plan(plan, folder);
  run_command({"python3", "-m", "polyte.lab_dask",
               "tcp://" + address.substr(std::string(kScheme).size()), folder, own_binary()});
  std::vector<std::string> folders;
  for (int i = 0; fs::exists(shard_folder(folder, std::to_string(i))); ++i)
    folders.push_back(shard_folder(folder, std::to_string(i)));
  return folders;
}

}  // namespace

void run_lab_cluster(const lab::Plan& plan, const std::string& folder, const Cluster& cluster) {
  if (cluster.slurm > 0 && !cluster.workers.empty())
    throw UserError(ExitStatus::Usage, "--slurm and --workers: expected one of them");
  if (!cluster.sbatch.empty() && cluster.slurm == 0)
    throw UserError(ExitStatus::Usage, "--sbatch: is for --slurm, which is not given");
  const std::string whole = fs::absolute(folder).string();
  if (fs::exists(whole + "/samples.jsonl") && !fs::exists(whole + "/shards"))
    throw UserError(ExitStatus::Usage,
                    folder + ": has samples of a run on this machine: give another --out");
  lab::keep_plan(plan, whole);
  const std::vector<std::string> folders =
      cluster.slurm > 0 ? run_slurm(plan, whole, cluster) : run_dask(plan, whole, cluster.workers);
  fs::remove(whole + "/samples.jsonl");  // of an earlier joining; the shards have all of it
  run_lab_merge({folders, folder});
}

void add_lab_merge(const Verb& lab) {
  const Verb verb =
      lab.verb("merge", "runs of one plan joined to one: shards, or more processes of one machine");
  auto options = std::make_shared<MergeVerb>();
  verb.option("folders", options->folders, "result folders of one plan").required();
  verb.option("-o,--out", options->out, "the result folder that is made").required();
  verb.example("polyte lab merge shard-0 shard-1 --out whole");
  verb.calls([options] { return lab_with("lab merge", [&] { return run_lab_merge(*options); }); });
}

}  // namespace polyte::cli
